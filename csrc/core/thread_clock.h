// Reads the CPU clock of another thread of this process.
#pragma once

#include <cstdint>
#include <time.h>

namespace perfprobe {

// Returns the CPU time of a thread of this process; -1 if it does not exist. The clock's id is
// computed as pthread_getcpuclockid does, which only accepts a pthread_t.
inline int64_t thread_cpu_time_ns(int64_t os_thread) {
  constexpr uint32_t kThreadClock =
      6;  // the CPU clock of one thread (CPUCLOCK_SCHED and CPUCLOCK_PERTHREAD)
  const auto clock = static_cast<clockid_t>(~static_cast<uint32_t>(os_thread) << 3 | kThreadClock);
  timespec now{};
  if (clock_gettime(clock, &now) != 0)
    return -1;
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace perfprobe
