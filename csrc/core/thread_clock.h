// The clock of another thread of this process.
#pragma once

#include <cstdint>
#include <time.h>

namespace perfprobe {

// CPU time of a thread of this process, -1 when there is none of this number. The clock's number is
// made as pthread_getcpuclockid makes it, which only takes a pthread_t.
inline int64_t thread_cpu_time_ns(int64_t os_thread) {
  constexpr uint32_t kThreadClock = 6;  // of one thread, as the scheduler counts
  const auto clock = static_cast<clockid_t>(~static_cast<uint32_t>(os_thread) << 3 | kThreadClock);
  timespec now{};
  if (clock_gettime(clock, &now) != 0)
    return -1;
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace perfprobe
