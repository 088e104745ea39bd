// Looks at the Python stacks of all threads at jittered intervals, on a thread that never takes the
// GIL and sends no signals.
//
// While no Python thread runs, the sampler rests: it looks about twice a second, and the kernel
// wakes it as soon as the process has used some CPU time. The time between two looks is then
// divided by the threads' CPU clocks: see Sampler::move_on.
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
#include "cpu/thread_activity.h"
#include "python/foreign_frames.h"
#include "python/lock_wait.h"
#include "python/sampled_stacks.h"
#include "python/seen_code.h"

namespace perfprobe {

struct SamplerFigures {
  int64_t interval_ns;       // mean time between two ticks, as requested
  int64_t last_interval_ns;  // the same at the end: it grows in long recordings
  int64_t ticks;
  int64_t late_ticks;    // ticks that came more than half an interval late
  int64_t late_ns;       // sum of their delays
  int64_t failed_ticks;  // the thread list changed while it was read
  int64_t looks;
  int64_t failed_looks;
  int64_t retries;         // the frames were inconsistent and were read again
  int64_t cut_stacks;      // looks at stacks deeper than ForeignFrames::kMost
  int64_t other_stacks;    // looks whose stack is the row "(other)"
  int64_t unread_threads;  // most threads at once whose clocks were not read
  bool is_lock_known;      // whether the kernel tells who waits for Python's global lock
  int64_t cpu_ns;          // used by the sampler
  int64_t started_ns;
  int64_t stopped_ns;
};

// Never destroyed. Throws std::system_error if the kernel allows no way to read memory.
class Sampler {
 public:
  // most_cost: the part that it may use, of one processor or (of_cpu_time) of the process's CPU
  // time. The interval grows to keep to it.
  Sampler(Recorder& recorder, int64_t interval_ns, double most_cost, bool of_cpu_time);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Starts. Time from now on counts for the main thread. Throws ThreadRefused.
  void start();
  // Writes the rest. `start` and `stop` must be called without the GIL.
  void stop();
  // Valid after `stop`.
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] SamplerFigures figures() const;

 private:
  struct Found {  // result of a look at a thread
    int64_t time_ns;
    Look look;
    int32_t stack;
    bool is_running;  // only set while the sampler rests
  };

  void run();
  void wait();
  bool know_threads();
  void tick();
  void skip_tick();
  void look_at(SeenThread& seen, int64_t previous_tick_ns);
  bool is_there_still(const SampledThread& thread, const Found& found, int64_t ran_ns) const;
  void move_on(SampledThread& thread, const Found& found, int64_t since_ns, int64_t start_ns);
  void stay(SampledThread& thread, int64_t now_ns);
  Found read_stack(SeenThread& seen, SampledThread& thread);
  void plan_next();
  bool rest();
  int64_t program_cpu_ns() const;
  void write();
  int64_t limiting_ns();
  void keep_to_cost(int64_t cpu_ns, int64_t limiting_ns);

  Recorder& recorder_;
  const OwnMemory memory_;
  ForeignFrames frames_{memory_};
  SeenCode code_{memory_};
  SampledStacks stacks_{recorder_, code_};
  SampleRows rows_{recorder_};
  SampledThreads threads_{recorder_, rows_};
  ThreadActivity activity_{recorder_};
  LockWait lock_;
  std::vector<int64_t> callers_;  // the numbers of the threads that were looked at
  std::vector<SeenThread> seen_;
  bool is_list_stale_ = true;  // of `seen_`
  std::minstd_rand random_;

  const double most_cost_;
  const bool of_cpu_time_;
  SamplerFigures figures_{};
  int64_t interval_ns_;
  int64_t least_interval_ns_;
  int64_t due_ns_ = 0;
  int64_t tick_ns_ = 0;
  int64_t written_ns_ = 0;      // when rows were last written,
  int64_t written_cpu_ns_ = 0;  // figures_.cpu_ns at that time,
  int64_t written_ticks_ = 0;   // the number of ticks,
  int64_t used_cpu_ns_ = 0;     // and the process's CPU time if it limits the sampler's
  int64_t rows_to_doubling_;
  double cost_;             // recent cost, smoothed, as a part of what limits it
  bool is_broken_ = false;  // out of memory

  CpuWait wait_;
  bool rests_ = false;          // no Python thread has run recently: looks are rare
  bool is_called_ = false;      // the kernel woke it from a rest
  int64_t skips_ = 0;           // consecutive ticks at which sampling was paused
  bool has_moved_ = false;      // a thread had run at this tick
  int64_t still_since_ns_ = 0;  // no thread has run since then
  int64_t watched_ns_ = 0;      // CPU time of the program's threads at the start of the rest
  NativeThread thread_{[this] { run(); }, [this] { thread_.signal(CpuWait::signal()); }};
};

}  // namespace perfprobe
