// How long each thread has run and waited for a processor, read at the writer's heartbeats.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/processor_use.h"
#include "core/recorder.h"
#include "core/row_table.h"
#include "core/thread_rows.h"

namespace perfprobe {

// A thread that has run since the last reading. Sums since the thread began.
struct ThreadTimesRow {
  int64_t time_ns;
  int64_t run_ns;
  int64_t wait_ns;           // ready to run but not running; -1 not known
  int64_t voluntary = -1;    // times it gave up the processor to wait; -1 not read this time
  int64_t involuntary = -1;  // times the processor was taken from it
  int32_t thread;
  int32_t processor = -1;  // where it ran last; read with the two

  static constexpr std::string_view kTable = "thread_times";
  static constexpr auto columns() {
    using Row = ThreadTimesRow;
    return std::array{
        column<&Row::time_ns>("time_ns"),     column<&Row::thread>("thread"),
        column<&Row::run_ns>("run_ns"),       column<&Row::wait_ns>("wait_ns"),
        column<&Row::voluntary>("voluntary"), column<&Row::involuntary>("involuntary"),
        column<&Row::processor>("processor")};
  }
};

// Never destroyed: the writer may still call it.
class ThreadTimes {
 public:
  // root: "/", or a folder with the same files, whose threads need not exist.
  ThreadTimes(Recorder& recorder, const std::string& root, const std::string& cpu_stat);
  ThreadTimes(const ThreadTimes&) = delete;
  ThreadTimes& operator=(const ThreadTimes&) = delete;

  // Reads now, and then at every heartbeat.
  void start();
  // Reads a last time.
  void stop();
  // CPU time that the readings took.
  [[nodiscard]] int64_t cpu_ns() const { return cpu_ns_; }
  [[nodiscard]] int64_t readings() const { return readings_; }

 private:
  struct Known {
    int32_t row = kNone;  // of the table `threads`
    int64_t run_ns = -1;
    int64_t reading = 0;  // number of the reading that last listed it
  };
  enum class Extent { some, all };

  static void ring(void* self);
  void beat();
  void read(Extent extent) noexcept;
  void read_all(Extent extent);
  bool read_thread(int64_t os_thread, int64_t time_ns);
  void read_switches(int64_t os_thread, ThreadTimesRow& row);
  std::string name(int64_t os_thread);
  void forget_ended();

  // A recording of a day must still fit in memory: after this many rows the readings become half as
  // frequent, and again after each half of that number.
  static constexpr int64_t kRowsToRarer = 1'048'576;
  static constexpr int64_t kMostCost =
      1500;  // reading takes at most one part in this many of the time
  static constexpr size_t kMostThreads = 256;          // most threads read at a heartbeat
  static constexpr int64_t kSwitchesNs = 900'000'000;  // between readings of status and stat

  Recorder& recorder_;
  const std::string tasks_;
  const bool is_real_;
  ThreadRows thread_rows_;
  ProcessorUse processors_;
  KernelFile file_;
  std::mutex mutex_;  // guards start, stop and the writer's heartbeats
  bool runs_ = false;
  std::unordered_map<int64_t, Known> threads_;
  size_t first_ = 0;  // where in the list the next reading begins
  int64_t due_ns_ = 0;
  int64_t switches_due_ns_ = 0;
  bool with_switches_ = true;  // at this reading
  int64_t least_interval_ns_ = 0;
  int64_t rows_to_rarer_ = kRowsToRarer;
  int64_t written_ = 0;
  int64_t cpu_ns_ = 0;
  int64_t readings_ = 0;
  RowTable<ThreadTimesRow> rows_;
  RowTable<ProcessorTimesRow> processor_rows_;
};

}  // namespace perfprobe
