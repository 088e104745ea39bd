#include "core/cpu_wait.h"

#include <algorithm>
#include <cerrno>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/time_slice.h"

// glibc defines it only since 2.36.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace perfprobe {
namespace {

timespec as_timespec(int64_t ns) {
  return {ns / kSecondNs, ns % kSecondNs};
}

}  // namespace

int CpuWait::signal() {
  return SIGRTMAX;
}

// May fail if the user has too many signals queued (ulimit -i), and in some sandboxes.
void CpuWait::begin() {
  ask_for_short_slices();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal();
  event.sigev_notify_thread_id = static_cast<pid_t>(::syscall(SYS_gettid));
  has_timer_ = ::timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer_) == 0;
}

void CpuWait::end() {
  if (has_timer_)
    ::timer_delete(timer_);
  has_timer_ = false;
}

bool CpuWait::watch(int64_t cpu_ns) {
  const itimerspec after{{}, as_timespec(std::max<int64_t>(cpu_ns, 1))};
  return has_timer_ && ::timer_settime(timer_, 0, &after, nullptr) == 0;
}

void CpuWait::unwatch() {
  const itimerspec never{};
  if (has_timer_)
    ::timer_settime(timer_, 0, &never, nullptr);
}

bool CpuWait::wait_until(int64_t due_ns) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, signal());
  for (;;) {
    const timespec rest = as_timespec(std::max<int64_t>(due_ns - monotonic_ns(), 0));
    if (::sigtimedwait(&awaited, nullptr, &rest) >= 0)
      return false;
    if (errno != EINTR)
      return true;
  }
}

}  // namespace perfprobe
