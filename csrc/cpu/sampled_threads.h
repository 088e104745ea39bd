// The sampler's state of each thread: its row in the recording and its open sample.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <unordered_map>

#include "core/mapped_memory.h"
#include "core/run_delay.h"
#include "core/thread_rows.h"
#include "cpu/sample_rows.h"
#include "python/sampled_stacks.h"

namespace perfprobe {

struct SampledThread {
  int32_t row = kNone;                     // of the table `threads`
  uint64_t state = 0;                      // id of its Python thread state at the last look
  int64_t cpu_ns = -1;                     // its CPU time at the last look
  uint64_t tick = 0;                       // the tick of the last look
  WaitsFor waits_for = WaitsFor::unknown;  // at its last look
  bool is_open = false;                    // whether `sample` may still be extended
  RunDelay delay;
  int64_t delay_ns = -1;  // at the last look that found that it had run
  SampleRow sample{};
  NamedStack last;  // stack at the last look
};

class SampledThreads {
 public:
  SampledThreads(Recorder& recorder, SampleRows& rows) : thread_rows_(recorder), rows_(rows) {}

  // Returns the thread with this number, whose CPU time is `cpu_ns` now.
  SampledThread& find(int64_t os_thread, int64_t cpu_ns);
  // Returns how long the thread has waited for a processor since the last call, in the sample that
  // begins; -1 if not known. What has no room in it is added to the open one.
  //
  // room_ns: the time of the sample that begins in which the thread did not run; -1 if it was not
  // followed until now.
  int64_t waited_ns(SampledThread& thread, int64_t os_thread, int64_t room_ns);
  // Writes the thread's open sample.
  void close(SampledThread& thread);
  // Writes the open samples of threads that were not seen since `tick`, and those older than
  // `start_ns`.
  void close_old(uint64_t tick, int64_t start_ns);

 private:
  static constexpr int32_t kMostDelays = 64;  // descriptors: the program has a limit of its own

  ThreadRows thread_rows_;
  SampleRows& rows_;
  MappedPool pool_;
  std::pmr::unordered_map<int64_t, SampledThread> threads_{pool_.resource()};
  int32_t open_delays_ = 0;  // since the last `close_old`, with those open then
};

}  // namespace perfprobe
