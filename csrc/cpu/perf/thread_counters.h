// The counters of one thread: a group of events each, read with one system call.
#pragma once

#include <array>
#include <cstdint>
#include <sys/types.h>
#include <vector>

#include "cpu/perf/counter_events.h"

namespace perfprobe {

// Sums since the counters were opened.
struct CounterValues {
  std::array<int64_t, kCounterEvents> count;  // -1: not counted
  // By group: how long the thread ran while the group was to count, and while it did. A group that
  // takes turns with others counts a part of the time.
  std::array<int64_t, kCounterGroups> enabled_ns;
  std::array<int64_t, kCounterGroups> running_ns;
};

class ThreadCounters {
 public:
  ThreadCounters() = default;
  ThreadCounters(ThreadCounters&& other) noexcept;
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(ThreadCounters&& other) noexcept;
  ~ThreadCounters();

  // Returns 0, or an errno: nothing is open then. Events that a group refuses are left out.
  int open(pid_t thread, const std::array<AllowedEvent, kCounterEvents>& allowed,
           OpenEvent opener = &open_event);
  // Returns false if nothing could be read.
  bool read(CounterValues& values) const;

 private:
  struct Group {
    std::vector<int> events;  // file descriptors, that of the leader first
    std::vector<size_t> counters;
  };

  std::array<Group, kCounterGroups> groups_;
};

}  // namespace perfprobe
