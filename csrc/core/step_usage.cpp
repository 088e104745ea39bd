#include "core/step_usage.h"

#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/kernel_files.h"
#include "core/watching.h"

namespace perfprobe {

namespace {

constexpr int64_t kMemoryPauseNs = 10'000'000;  // a program of short steps pays for few readings

}  // namespace

StepUsage::StepUsage() : memory_("/proc/self/statm"), memory_ns_(-kMemoryPauseNs) {}

void StepUsage::read(LiveStep& step) {
  const int64_t thread = ::syscall(SYS_gettid);
  if (std::exchange(os_thread_, thread) != thread)
    cpu_ns_ = waited_ns_ = -1;
  const int64_t cpu_ns = thread_cpu_ns();
  const int64_t waited = delay_.read_ns(thread);
  const int64_t collected = collected_ns;
  const int64_t cpu_before_ns = std::exchange(cpu_ns_, cpu_ns);
  const int64_t waited_before_ns = std::exchange(waited_ns_, waited);
  step.clock_ns = cpu_ns;
  step.cpu_ns = cpu_before_ns < 0 ? -1 : cpu_ns - cpu_before_ns;
  step.waited_ns = waited_before_ns < 0 || waited < 0 ? -1 : waited - waited_before_ns;
  step.collected_ns = cpu_before_ns < 0 ? -1 : collected - collected_ns_;
  collected_ns_ = collected;
}

// The second number is that of resident pages (proc_pid_statm(5)).
void StepUsage::read_memory(LiveStep& step) {
  static const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  if (step.end_ns - memory_ns_ < kMemoryPauseNs)
    return;
  memory_ns_ = step.end_ns;
  std::string_view text = memory_.read();
  const int64_t pages = take_number(text) < 0 ? -1 : take_number(text);
  step.rss_bytes = pages < 0 ? -1 : pages * page_bytes;
}

}  // namespace perfprobe
