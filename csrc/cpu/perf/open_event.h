// Opens events of the kernel's perf subsystem, and explains why one is refused.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <linux/perf_event.h>

#include "core/descriptor.h"

namespace perfprobe {

// Like the system call: on failure nothing is open, and errno says why. Tests pass their own.
using OpenEvent = Descriptor (*)(perf_event_attr* event, pid_t thread, int processor, int group,
                                 unsigned long flags);

Descriptor open_event(perf_event_attr* event, pid_t thread, int processor, int group,
                      unsigned long flags);

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

// What an event needs. The remedy for a refusal depends on it.
enum class EventNeed {
  user,    // this process outside of the kernel: perf_event_paranoid 2 or less
  kernel,  // this process, also in the kernel: 1 or less
  machine  // all processes of the machine: 0 or less
};

// Explains an errno of `open_event`. name: the event's, as `perf list` prints it. paranoid: see
// `paranoid_level`.
Refusal refusal_of(int error, std::string_view name, EventNeed need, int paranoid);

// Returns /proc/sys/kernel/perf_event_paranoid; kUnknownParanoid if it cannot be read.
int paranoid_level();
inline constexpr int kUnknownParanoid = -100;

// Returns an event with the fields set that all events of perfprobe share.
perf_event_attr plain_event(uint32_t type, uint64_t config);

}  // namespace perfprobe
