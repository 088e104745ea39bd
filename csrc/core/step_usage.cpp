#include "core/step_usage.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/watching.h"

namespace perfprobe {

void StepUsage::read(LiveStep& step) {
  const int64_t thread = ::syscall(SYS_gettid);
  if (std::exchange(os_thread_, thread) != thread)
    cpu_ns_ = waited_ns_ = -1;
  const int64_t cpu_ns = thread_cpu_ns();
  const int64_t waited = delay_.read_ns(thread);
  const int64_t collected = collected_ns;
  const int64_t cpu_before_ns = std::exchange(cpu_ns_, cpu_ns);
  const int64_t waited_before_ns = std::exchange(waited_ns_, waited);
  step.cpu_ns = cpu_before_ns < 0 ? -1 : cpu_ns - cpu_before_ns;
  step.waited_ns = waited_before_ns < 0 || waited < 0 ? -1 : waited - waited_before_ns;
  step.collected_ns = cpu_before_ns < 0 ? -1 : collected - collected_ns_;
  collected_ns_ = collected;
}

}  // namespace perfprobe
