// The counters of one thread. Each group of events is read with one system call.
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
  // By group: how long the thread ran, and how long of that the group counted, which is less for
  // groups that take turns.
  std::array<int64_t, kCounterGroups> enabled_ns;
  std::array<int64_t, kCounterGroups> running_ns;
};

class ThreadCounters {
 public:
  // Returns 0, or an errno; then nothing is open. Events that cannot join their group are left out.
  int open(pid_t thread, const std::array<AllowedEvent, kCounterEvents>& allowed,
           OpenEvent opener = &open_event);
  // Returns whether it counts at all.
  [[nodiscard]] bool is_open() const;
  // Returns false if it does not count, or the program has closed one of its events.
  bool read(CounterValues& values) const;

 private:
  struct Group {
    std::vector<Descriptor> events;  // that of the leader first
    std::vector<size_t> counters;
  };

  std::array<Group, kCounterGroups> groups_;
};

}  // namespace perfprobe
