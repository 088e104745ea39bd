// Opens events of the kernel's perf subsystem, and says in words why one is refused.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <linux/perf_event.h>

namespace perfprobe {

// As the system call: returns a file descriptor, or -1 with errno. Tests pass their own.
using OpenEvent = int (*)(perf_event_attr* event, pid_t thread, int processor, int group,
                          unsigned long flags);

int open_event(perf_event_attr* event, pid_t thread, int processor, int group, unsigned long flags);

// Why the kernel refuses an event, and the command or setting that would allow it.
struct Refusal {
  std::string reason;
  std::string remedy;
};

struct RefusedEvent : std::runtime_error {
  explicit RefusedEvent(Refusal why)
      : std::runtime_error(why.reason + "; " + why.remedy), refusal(std::move(why)) {}
  Refusal refusal;
};

// What an event needs, as the remedy for a refusal depends on it.
enum class EventNeed {
  user,    // code of this process outside of the kernel: perf_event_paranoid 2 or less
  kernel,  // and inside of it: 1 or less
  machine  // all processes on the machine: 0 or less
};

// name: of the event, as `perf list` prints it. paranoid: see `paranoid_level`.
Refusal refusal_of(int error, std::string_view name, EventNeed need, int paranoid);

// Returns /proc/sys/kernel/perf_event_paranoid; kUnknownParanoid if it cannot be read.
int paranoid_level();
inline constexpr int kUnknownParanoid = -100;

// Returns an event with the fields set that all of ours have.
perf_event_attr plain_event(uint32_t type, uint64_t config);

}  // namespace perfprobe
