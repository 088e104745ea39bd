// CPU time and waiting of the loop's thread in each step.
#pragma once

#include <cstdint>

#include "core/live_steps.h"
#include "core/run_delay.h"

namespace perfprobe {

// Called on the loop's thread only.
class StepUsage {
 public:
  // Sets `cpu_ns`, `waited_ns` and `collected_ns` to what was used since the last call.
  void read(LiveStep& step);

 private:
  int64_t os_thread_ = 0;
  RunDelay delay_;  // of that thread
  int64_t cpu_ns_ = -1;
  int64_t waited_ns_ = -1;
  int64_t collected_ns_ = 0;
};

}  // namespace perfprobe
