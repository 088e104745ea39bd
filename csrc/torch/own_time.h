// Measures the time that recording takes in the program, at one operator in kEvery. There caches
// are colder, stacks deeper and inputs more than in the calibration.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/clock.h"

namespace perfprobe {

class OwnTime {
 public:
  static constexpr uint32_t kEvery =
      61;  // a prime, so that no loop's number of operators is likely to be a multiple

  // What torch itself takes for an event, in ns: it calls the callbacks and makes values of the
  // inputs.
  void set_beside(double ns) { beside_ns_ = ns; }
  void clear() {
    ticks_ = events_ = 0;
    began_ticks_ = read_ticks();
    began_ns_ = monotonic_ns();
  }

  // Adds the time of one event.
  void add(int64_t ticks) {
    ticks_.fetch_add(std::min(ticks, kMostTicks), std::memory_order_relaxed);
    events_.fetch_add(1, std::memory_order_relaxed);
  }

  // Returns nanoseconds per event since `clear`; 0 if none was measured.
  [[nodiscard]] double event_ns() const {
    const int64_t passed_ticks = read_ticks() - began_ticks_;
    if (events_ == 0 || passed_ticks <= 0)
      return 0;
    const double ns_per_tick =
        static_cast<double>(monotonic_ns() - began_ns_) / static_cast<double>(passed_ticks);
    return static_cast<double>(ticks_) * ns_per_tick / static_cast<double>(events_);
  }

  // Returns the nanoseconds that all events since `clear` took, by an estimate.
  [[nodiscard]] int64_t spent_ns() const {
    const auto events = static_cast<double>(events_) * kEvery;
    return static_cast<int64_t>(events * (event_ns() + beside_ns_));
  }

 private:
  static constexpr int64_t kMostTicks =
      60'000;  // a longer time means that the thread was not running

  std::atomic<int64_t> ticks_{0};
  std::atomic<int64_t> events_{0};
  int64_t began_ticks_ = 0;
  int64_t began_ns_ = 0;
  double beside_ns_ = 0;
};

inline OwnTime own_time;  // of the latest recording

}  // namespace perfprobe
