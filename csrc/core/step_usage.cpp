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
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/task/%lld/schedstat",
                  static_cast<long long>(thread));
    const int opened = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    constexpr int kLowest = 100;  // so that the program's own files keep their usual low numbers
    descriptor_ = opened < 0 ? -1 : ::fcntl(opened, F_DUPFD_CLOEXEC, kLowest);
    if (opened >= 0)
      ::close(opened);
    struct stat status{};
    inode_ = descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 ? status.st_ino : 0;
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

// Reads the second number of schedstat: ns in which the thread could run but had no processor. The
// inode is checked because the program may have closed the descriptor and reused its number.
int64_t StepUsage::waited_ns() {
  struct stat status{};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || status.st_ino != inode_)
    return -1;
  std::array<char, 128> text{};
  long long ran_ns = 0;
  long long waited = 0;
  const ssize_t got = ::pread(descriptor_, text.data(), text.size() - 1, 0);
  return got > 0 && std::sscanf(text.data(), "%lld %lld", &ran_ns, &waited) == 2 ? waited : -1;
}

}  // namespace perfprobe
