#include "core/step_usage.h"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/watching.h"

namespace perfprobe {

void StepUsage::read(LiveStep& step) {
  const int64_t thread = ::syscall(SYS_gettid);
  if (std::exchange(os_thread_, thread) != thread) {
    cpu_ns_ = waited_ns_ = -1;
    open();
  }
  const int64_t cpu_ns = thread_cpu_ns();
  const int64_t waited = waited_ns();
  const int64_t collected = collected_ns;
  const int64_t cpu_before_ns = std::exchange(cpu_ns_, cpu_ns);
  const int64_t waited_before_ns = std::exchange(waited_ns_, waited);
  step.cpu_ns = cpu_before_ns < 0 ? -1 : cpu_ns - cpu_before_ns;
  step.waited_ns = waited_before_ns < 0 || waited < 0 ? -1 : waited - waited_before_ns;
  step.collected_ns = cpu_before_ns < 0 ? -1 : collected - collected_ns_;
  collected_ns_ = collected;
}

void StepUsage::open() {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%lld/schedstat",
                static_cast<long long>(os_thread_));
  schedstat_ = Descriptor::open(path.data(), O_RDONLY);
}

// Reads the second number of schedstat: ns in which the thread could run but had no processor. It
// is a sum, so nothing is lost if the program has closed the descriptor.
int64_t StepUsage::waited_ns() {
  int file = schedstat_.number();
  if (file < 0 && schedstat_.is_open()) {
    open();
    file = schedstat_.number();
  }
  std::array<char, 128> text{};
  long long ran_ns = 0;
  long long waited = 0;
  const ssize_t got = ::pread(file, text.data(), text.size() - 1, 0);
  return got > 0 && std::sscanf(text.data(), "%lld %lld", &ran_ns, &waited) == 2 ? waited : -1;
}

}  // namespace perfprobe
