#include "core/wait_readings.h"

#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"

namespace perfprobe {
namespace {

struct Moment {
  int64_t time_ns;
  int64_t waited_ns;
};

// The two are of the same moment: the thread did not wait between the readings, unless it had to
// each time.
Moment read_moment(RunDelay& delay, int64_t most_between_ns) {
  constexpr int kMostTries = 3;
  Moment found{monotonic_ns(), 0};
  for (int tries = 0; tries < kMostTries; ++tries) {
    const int64_t before_ns = found.time_ns;
    found = {0, delay.read_ns(::syscall(SYS_gettid))};
    found.time_ns = monotonic_ns();
    if (found.time_ns - before_ns < most_between_ns)
      break;
  }
  return found;
}

}  // namespace

void WaitReadings::read(int32_t thread) noexcept try {
  const std::lock_guard lock(mutex_);
  if (threads_.size() >= kMostThreads && !threads_.contains(thread))
    return;
  Thread& own = threads_[thread];
  const auto [now_ns, waited_ns] = read_moment(own.delay, kLeastNs);
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
