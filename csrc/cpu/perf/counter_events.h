// The events that can be counted, and which of them this kernel and processor allow.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/perf/open_event.h"

namespace perfprobe {

// The events of a group are counted at the same time. A processor counts four to eight events at
// once; if there are more, groups take turns.
enum class CounterGroup : uint8_t { software, core, cache, stalls };
inline constexpr size_t kCounterGroups = 4;

struct CounterEvent {
  const char* name;  // as `perf list` prints it
  CounterGroup group;
  uint32_t type;
  uint64_t config;
};

inline constexpr size_t kCounterEvents = 12;
// In the order of the columns of CounterRow.
const std::array<CounterEvent, kCounterEvents>& counter_events();

struct AllowedEvent {
  bool is_allowed = false;
  bool is_user_only = false;  // not counted in the kernel
  perf_event_attr event{};
  Refusal refusal;  // if it is not allowed
};

// Opens each event alone on the calling thread and closes it again.
std::array<AllowedEvent, kCounterEvents> allowed_events(OpenEvent open = &open_event);

}  // namespace perfprobe
