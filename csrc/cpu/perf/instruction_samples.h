// Samples the instruction address of all threads of the process, by perf's clock of CPU time.
//
// The kernel writes samples into a ring for each processor, and the recorder's writer reads them at
// its heartbeats. There are no signals and no unwinding. New threads inherit the events.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/own_memory.h"
#include "core/recorder.h"
#include "core/row_table.h"
#include "core/thread_rows.h"
#include "cpu/perf/code_map.h"
#include "cpu/perf/event_ring.h"
#include "cpu/perf/open_event.h"

namespace perfprobe {

// Where a thread was when it was sampled.
enum class Mode : int8_t {
  program = 0,      // in the program's code
  system_call = 1,  // in the kernel, in a system call
  interrupted = 2   // in the kernel, in a page fault or an interrupt
};

struct NativeSampleRow {
  int64_t time_ns;
  int64_t cpu_ns;  // the CPU time it stands for
  int32_t thread;
  int32_t function;  // of the program; while it is in the kernel, the one that entered it
  Mode mode;

  static constexpr std::string_view kTable = "native_samples";
  static constexpr auto columns() {
    using Row = NativeSampleRow;
    return std::array{column<&Row::time_ns>("time_ns"), column<&Row::cpu_ns>("cpu_ns"),
                      column<&Row::thread>("thread"), column<&Row::function>("function"),
                      column<&Row::mode>("mode")};
  }
};

struct InstructionFigures {
  int64_t period_ns;     // of CPU time between two samples of a thread
  int64_t samples;       // taken
  int64_t lost;          // the ring was full
  int64_t every;         // at the end, only every N-th sample was written
  int64_t functions;     // number of different ones
  int64_t others;        // samples of functions beyond the limit
  int64_t cpu_ns;        // used to read samples and find their functions
  bool with_kernel;      // whether time in the kernel was sampled too
  int64_t times_closed;  // how often the program was seen to have closed events
  bool ended;            // after that, no events could be opened
  int64_t started_ns, stopped_ns;
};

// Never destroyed: the writer may still call it.
class InstructionSamples {
 public:
  InstructionSamples(Recorder& recorder, int64_t period_ns, OpenEvent open = &open_event);
  InstructionSamples(const InstructionSamples&) = delete;
  InstructionSamples& operator=(const InstructionSamples&) = delete;

  // Throws RefusedEvent.
  void start();
  void stop();
  [[nodiscard]] InstructionFigures figures() const;

  // Opens an event as `start` does and closes it. Throws RefusedEvent.
  static void try_out(OpenEvent open = &open_event);

 private:
  static void ring(void* self);
  void beat();
  void open_all();
  void open_thread(pid_t thread);
  void close_all();
  [[nodiscard]] bool has_lost(size_t most);
  void open_again();
  void read();
  void add(const InstructionSample& sample);
  Mode mode_of(const InstructionSample& sample);
  int32_t thread_row(int32_t thread);

  static constexpr int64_t kRowsToRarer = 1'048'576;
  static constexpr size_t kCheckedAtOnce = 64;  // at 0.5 us each

  Recorder& recorder_;
  const OpenEvent open_;
  OwnMemory memory_;
  CodeMap code_{recorder_};
  ThreadRows thread_rows_{recorder_};
  RowTable<NativeSampleRow> rows_;
  perf_event_attr event_{};
  std::mutex mutex_;  // guards start, stop and the writer's heartbeats
  bool runs_ = false;
  std::vector<Descriptor> events_;
  size_t next_checked_ = 0;
  std::map<int, size_t> output_;  // by processor: the event that has the ring
  std::vector<EventRing> rings_;
  std::vector<InstructionSample> taken_;
  std::unordered_map<int32_t, int32_t> threads_;
  std::unordered_map<uint64_t, bool> is_call_;  // by address: whether it follows a system call
  int64_t rows_to_rarer_ = kRowsToRarer;
  int64_t written_ = 0;
  int64_t skipped_ = 0;
  InstructionFigures figures_{};
};

}  // namespace perfprobe
