#include "cpu/perf/thread_counters.h"

#include <algorithm>
#include <cerrno>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace perfprobe {
namespace {

constexpr uint64_t kFormat =
    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

bool has_no_files_left(int error) {
  return error == EMFILE || error == ENFILE || error == ESRCH;
}

}  // namespace

ThreadCounters::ThreadCounters(ThreadCounters&& other) noexcept
    : groups_(std::exchange(other.groups_, {})) {}

ThreadCounters& ThreadCounters::operator=(ThreadCounters&& other) noexcept {
  std::swap(groups_, other.groups_);
  return *this;
}

ThreadCounters::~ThreadCounters() {
  for (const Group& group : groups_)
    for (const int event : group.events)
      ::close(event);
}

int ThreadCounters::open(pid_t thread, const std::array<AllowedEvent, kCounterEvents>& allowed,
                         OpenEvent opener) {
  for (size_t i = 0; i < kCounterEvents; ++i) {
    if (!allowed[i].is_allowed)
      continue;
    Group& group = groups_.at(static_cast<size_t>(counter_events()[i].group));
    perf_event_attr event = allowed[i].event;
    event.read_format = kFormat;
    event.disabled = group.events.empty() ? 1 : 0;
    const int leader = group.events.empty() ? -1 : group.events.front();
    const int number = opener(&event, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
    if (number < 0 && has_no_files_left(errno)) {
      const int error = errno;
      *this = ThreadCounters();
      return error;
    }
    if (number < 0)
      continue;
    group.events.push_back(number);
    group.counters.push_back(i);
  }
  for (const Group& group : groups_)
    if (!group.events.empty())
      ::ioctl(group.events.front(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  return 0;
}

bool ThreadCounters::read(CounterValues& values) const {
  values.count.fill(-1);
  values.enabled_ns.fill(0);
  values.running_ns.fill(0);
  bool has_some = false;
  for (size_t g = 0; g < kCounterGroups; ++g) {
    const Group& group = groups_[g];
    std::array<uint64_t, 3 + kCounterEvents> read{};  // number, both times, counts
    if (group.events.empty() || ::read(group.events.front(), read.data(), sizeof read) < 24)
      continue;
    has_some = true;
    values.enabled_ns[g] = static_cast<int64_t>(read[1]);
    values.running_ns[g] = static_cast<int64_t>(read[2]);
    const size_t number = std::min<size_t>(read[0], group.counters.size());
    for (size_t i = 0; i < number; ++i)
      values.count[group.counters[i]] = static_cast<int64_t>(read.at(3 + i));
  }
  return has_some;
}

}  // namespace perfprobe
