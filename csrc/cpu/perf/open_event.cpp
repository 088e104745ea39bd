#include "cpu/perf/open_event.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel_files.h"

namespace perfprobe {
namespace {

std::string level_text(int paranoid) {
  return paranoid == kUnknownParanoid ? "perf_event_paranoid is too high"
                                      : "kernel.perf_event_paranoid is " + std::to_string(paranoid);
}

// Debian and Ubuntu have the levels 3 and 4, at which no unprivileged event is allowed.
Refusal not_permitted(const std::string& event, EventNeed need, int paranoid) {
  const char* level = need == EventNeed::user ? "2" : need == EventNeed::kernel ? "1" : "0";
  return {event + " is not permitted: " + level_text(paranoid),
          std::string("sudo sysctl kernel.perf_event_paranoid=") + level +
              ", or CAP_PERFMON for this Python"};
}

Refusal other(const std::string& event, int error) {
  return {event + " cannot be opened: " + std::strerror(error), "see `man 2 perf_event_open`"};
}

}  // namespace

Descriptor open_event(perf_event_attr* event, pid_t thread, int processor, int group,
                      unsigned long flags) {
  const long opened = ::syscall(SYS_perf_event_open, event, thread, processor, group, flags);
  return Descriptor(static_cast<int>(opened), Descriptor::Kind::perf_event);
}

Refusal refusal_of(int error, std::string_view name, EventNeed need, int paranoid) {
  const std::string event(name);
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
    case ENXIO:
      return {
          event + " is not available: this processor, or this virtual machine, has no such counter",
          "use bare metal, or a VM with a virtual PMU"};
    case EACCES:
      return not_permitted(event, need, paranoid);
    case EPERM:
      return {
          event + " is not permitted: a sandbox refuses perf_event_open, as Docker does by default",
          "start the container with --cap-add PERFMON, or --security-opt seccomp=unconfined"};
    case EINVAL:
    case E2BIG:
      return {event + " is not known to this kernel",
              "use a newer kernel (`uname -r` says which runs)"};
    case EMFILE:
      return {event + " cannot be opened: this process has too many open files", "ulimit -n 65536"};
    case ENFILE:
      return {event + " cannot be opened: the machine has too many open files",
              "sudo sysctl fs.file-max=1000000"};
    case ENOSYS:
      return {event + " is not available: this kernel has no perf_event_open",
              "use a kernel with CONFIG_PERF_EVENTS"};
    case EBUSY:
      return {event + " is in use: another tool holds the counters exclusively",
              "end that tool, or free the watchdog's counter: sudo sysctl kernel.nmi_watchdog=0"};
    case ENOSPC:
      return {event + " cannot be opened: all hardware breakpoints are in use",
              "end other profilers"};
    case ENOMEM:
      return {event + " cannot be opened: the kernel has no memory for it", "free memory"};
    case ESRCH:
      return {event + " cannot be opened: the thread has ended", "nothing to do"};
    default:
      return other(event, error);
  }
}

int paranoid_level() {
  KernelFile file;
  const std::string text(file.read("/proc/sys/kernel/perf_event_paranoid"));
  return text.empty() ? kUnknownParanoid : std::atoi(text.c_str());
}

perf_event_attr plain_event(uint32_t type, uint64_t config) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = type;
  event.config = config;
  event.exclude_hv = 1;
  return event;
}

}  // namespace perfprobe
