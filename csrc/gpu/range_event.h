// The events that a thread writes for its named ranges: a range began, a range ended. Another
// thread matches them later.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace perfprobe {

// As in tables/ranges.py. python: ranges of the interpreter itself, its garbage collection.
enum class RangeSource : uint8_t { nvtx = 0, itt = 1, perfprobe = 2, python = 3 };
inline constexpr size_t kRangeSources = 4;
enum class RangeKind : uint8_t { nested = 0, free = 1, mark = 2 };

enum class RangeAct : uint8_t { push, pop, start, end, mark, name_thread };

struct RangeEvent {
  int64_t time_ns;
  int64_t id;      // of free ranges and of perfprobe's own (0: a pop means the innermost); or the
                   // thread's number
  int32_t name;    // of RangeNames
  int32_t domain;  // of RangeNames, kNone the default one
  RangeSource source;
  RangeAct act;
  bool is_outside = false;  // it begins outside of a window: only its end is looked for
};
static_assert(sizeof(RangeEvent) == 32 && std::is_trivially_copyable_v<RangeEvent>);

// One thread puts events, one at a time takes them. Neither waits.
class RangeRing {
 public:
  [[nodiscard]] bool is_full() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire) == kEvents;
  }
  void put(const RangeEvent& event) {  // not called when it is full
    const uint32_t head = head_.load(std::memory_order_relaxed);
    events_[head % kEvents] = event;
    head_.store(head + 1, std::memory_order_release);
  }
  template <class Take>
  void take_all(Take take) {
    const uint32_t head = head_.load(std::memory_order_acquire);
    for (uint32_t at = tail_.load(std::memory_order_relaxed); at != head; ++at) {
      take(events_[at % kEvents]);
      tail_.store(at + 1, std::memory_order_release);
    }
  }

 private:
  static constexpr uint32_t kEvents = 2048;

  std::atomic<uint32_t> head_{0};
  std::atomic<uint32_t> tail_{0};
  std::array<RangeEvent, kEvents> events_;
};

}  // namespace perfprobe
