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
  ThreadCounters() = default;
  ThreadCounters(ThreadCounters&& other) noexcept;
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(ThreadCounters&& other) noexcept;
  ~ThreadCounters();

  // Returns 0, or an errno; then nothing is open. Events that cannot join their group are left out.
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
