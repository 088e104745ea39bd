// What the sampler knows of each thread: its row in the recording and the sample that is still
// open.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <unordered_map>

#include "core/mapped_memory.h"
#include "core/thread_rows.h"
#include "cpu/sample_rows.h"
#include "python/sampled_stacks.h"

namespace perfprobe {

struct SampledThread {
  int32_t row = kNone;   // of the table `threads`
  uint64_t state = 0;    // number of its Python state, when it was looked at last
  int64_t cpu_ns = -1;   // its clock by then
  uint64_t tick = 0;     // when that was
  bool is_open = false;  // whether `sample` may still become longer
  SampleRow sample{};
  NamedStack last;  // what was read
};

class SampledThreads {
 public:
  SampledThreads(Recorder& recorder, SampleRows& rows) : thread_rows_(recorder), rows_(rows) {}

  // The thread of this number, whose clock stands at `cpu_ns`.
  SampledThread& find(int64_t os_thread, int64_t cpu_ns);
  // Hands its open sample over to be written.
  void close(SampledThread& thread);
  // The same for all that were not seen since `tick`, and for samples that are open since before
  // `start_ns`.
  void close_old(uint64_t tick, int64_t start_ns);

 private:
  ThreadRows thread_rows_;
  SampleRows& rows_;
  MappedPool pool_;
  std::pmr::unordered_map<int64_t, SampledThread> threads_{pool_.resource()};
};

}  // namespace perfprobe
