#include "core/wait_readings.h"

#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"

namespace perfprobe {

void WaitReadings::read(int32_t thread) noexcept try {
  const std::lock_guard lock(mutex_);
  if (threads_.size() >= kMostThreads && !threads_.contains(thread))
    return;
  Thread& own = threads_[thread];
  const int64_t waited_ns = own.delay.read_ns(::syscall(SYS_gettid));
  const int64_t now_ns = monotonic_ns();
  const int64_t before_ns = std::exchange(own.read_ns, now_ns);
  const int64_t wait_ns = waited_ns - own.told_ns;
  if (waited_ns < 0 || (before_ns >= 0 && wait_ns < kLeastNs))
    return;
  own.told_ns = waited_ns;
  if (before_ns >= 0)
    rows_.add({before_ns, now_ns, thread, wait_ns});
} catch (const std::bad_alloc&) {  // this wait is told with the next
}

void WaitReadings::stop() {
  {
    const std::lock_guard lock(mutex_);
    threads_.clear();
  }
  rows_.stop();
}

}  // namespace perfprobe
