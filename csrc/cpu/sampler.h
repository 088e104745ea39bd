// Looks at the Python stacks of all threads at jittered intervals, from a thread of its own that
// never takes the GIL and sends no signals.
//
// While no thread runs it rests: it looks twice a second or so, and is called back by the kernel as
// soon as the process has used a few milliseconds of CPU time. What lies between two looks is then
// distinguished by the threads' own clocks: see Sampler::move_on.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/cpu_wait.h"
#include "core/native_thread.h"
#include "core/own_memory.h"
#include "core/recorder.h"
#include "cpu/sample_rows.h"
#include "cpu/sampled_threads.h"
#include "python/foreign_frames.h"
#include "python/sampled_stacks.h"
#include "python/seen_code.h"

namespace perfprobe {

struct SamplerFigures {
  int64_t interval_ns;       // mean time between two ticks, by plan
  int64_t last_interval_ns;  // at the end: it grows in long recordings and where looking is costly
  int64_t ticks;
  int64_t late_ticks;    // those that came later than half the interval
  int64_t late_ns;       // by how much, in all
  int64_t failed_ticks;  // the list of threads changed while it was read
  int64_t looks;
  int64_t failed_looks;
  int64_t retries;       // the frames did not fit together, and were read once more
  int64_t cut_stacks;    // looks at stacks deeper than ForeignFrames::kMost
  int64_t other_stacks;  // looks for whose stacks there was no room
  int64_t cpu_ns;        // the sampler's own
  int64_t started_ns;
  int64_t stopped_ns;
};

// Never destroyed. Throws std::system_error when the kernel lets it read nothing.
class Sampler {
 public:
  // most_cost: part of one processor that it may take; the interval grows to keep to it.
  Sampler(Recorder& recorder, int64_t interval_ns, double most_cost);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Begins; what passes from now on is the main thread's. Throws std::system_error.
  void start();
  // Writes what is left. Neither needs the GIL, and must not be called with it.
  void stop();
  // To be asked after `stop`.
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] SamplerFigures figures() const;

 private:
  struct Found {  // by a look at a thread
    int64_t time_ns;
    Look look;
    int32_t stack;
    bool is_running;  // asked while the sampler rests
  };

  void run();
  void wait();
  bool know_threads();
  void tick();
  void look_at(SeenThread& seen, int64_t previous_tick_ns);
  bool is_there_still(const SampledThread& thread, const Found& found, int64_t ran_ns) const;
  void move_on(SampledThread& thread, const Found& found, int64_t since_ns, int64_t start_ns);
  void stay(SampledThread& thread, int64_t now_ns);
  Found read_stack(SeenThread& seen, SampledThread& thread);
  void plan_next();
  bool rest();
  int64_t program_cpu_ns() const;
  void write();
  void keep_to_cost(int64_t cpu_ns, int64_t wall_ns);

  Recorder& recorder_;
  const OwnMemory memory_;
  ForeignFrames frames_{memory_};
  SeenCode code_{memory_};
  SampledStacks stacks_{recorder_, code_};
  SampleRows rows_{recorder_};
  SampledThreads threads_{recorder_, rows_};
  std::vector<SeenThread> seen_;
  bool is_list_stale_ = true;  // of `seen_`
  std::minstd_rand random_;

  const double most_cost_;
  SamplerFigures figures_{};
  int64_t interval_ns_;
  int64_t least_interval_ns_;
  int64_t due_ns_ = 0;
  int64_t tick_ns_ = 0;
  int64_t written_ns_ = 0;      // when rows were written last,
  int64_t written_cpu_ns_ = 0;  // and what of figures_.cpu_ns was spent by then,
  int64_t written_ticks_ = 0;   // and how many ticks there had been
  int64_t rows_to_doubling_;
  double cost_;             // of late, smoothed: a part of one processor
  bool is_broken_ = false;  // no memory was left

  CpuWait wait_;
  bool rests_ = false;          // no thread of Python has run of late: looks are rare
  bool is_called_ = false;      // from a rest, by the CPU time that was used
  bool has_moved_ = false;      // a thread had run, at this tick
  int64_t still_since_ns_ = 0;  // no thread has run since then
  int64_t watched_ns_ = 0;      // CPU time of the program's threads, when it began to rest
  NativeThread thread_{[this] { run(); }, [this] { thread_.signal(CpuWait::signal()); }};
};

}  // namespace perfprobe
