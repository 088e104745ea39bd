// What a step used: CPU time and waiting of the loop's thread, garbage collections, memory.
#pragma once

#include <cstdint>

#include "core/kept_file.h"
#include "core/live_steps.h"
#include "core/run_delay.h"

namespace perfprobe {

// Called on the loop's thread only, when a step ends.
class StepUsage {
 public:
  StepUsage();
  // Sets the times to what was used since the last call.
  void read(LiveStep& step);
  // Sets the memory to what the process has, at most every 10 ms.
  void read_memory(LiveStep& step);

 private:
  int64_t os_thread_ = 0;
  RunDelay delay_;  // of that thread
  int64_t cpu_ns_ = -1;
  int64_t waited_ns_ = -1;
  int64_t collected_ns_ = 0;
  KeptFile memory_;
  int64_t memory_ns_;  // when it was read
};

}  // namespace perfprobe
