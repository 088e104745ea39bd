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

int ThreadCounters::open(pid_t thread, const std::array<AllowedEvent, kCounterEvents>& allowed,
                         OpenEvent opener) {
  for (size_t i = 0; i < kCounterEvents; ++i) {
    if (!allowed[i].is_allowed)
      continue;
    Group& group = groups_.at(static_cast<size_t>(counter_events()[i].group));
    perf_event_attr event = allowed[i].event;
    event.read_format = kFormat;
    event.disabled = group.events.empty() ? 1 : 0;
    const int leader = group.events.empty() ? -1 : group.events.front().number();
    Descriptor opened = opener(&event, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
    if (!opened.is_open() && has_no_files_left(errno)) {
      const int error = errno;
      *this = ThreadCounters();
      return error;
    }
    if (!opened.is_open())
      continue;
    group.events.push_back(std::move(opened));
    group.counters.push_back(i);
  }
  for (const Group& group : groups_)
    if (!group.events.empty())
      ::ioctl(group.events.front().number(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  return 0;
}

bool ThreadCounters::is_open() const {
  return std::ranges::any_of(groups_, [](const Group& group) { return !group.events.empty(); });
}

// An event that the program has closed has left its group: the others' counts would be taken for
// its own.
bool ThreadCounters::read(CounterValues& values) const {
  values.count.fill(-1);
  values.enabled_ns.fill(0);
  values.running_ns.fill(0);
  for (size_t g = 0; g < kCounterGroups; ++g) {
    const Group& group = groups_[g];
    std::array<uint64_t, 3 + kCounterEvents> read{};  // number, both times, counts
    if (group.events.empty())
      continue;
    if (::read(group.events.front().number(), read.data(), sizeof read) < 24 ||
        read[0] != group.counters.size())
      return false;
    values.enabled_ns[g] = static_cast<int64_t>(read[1]);
    values.running_ns[g] = static_cast<int64_t>(read[2]);
    for (size_t i = 0; i < group.counters.size(); ++i)
      values.count[group.counters[i]] = static_cast<int64_t>(read.at(3 + i));
  }
  return is_open();
}

}  // namespace perfprobe
