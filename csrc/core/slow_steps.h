// Decides which steps are slow compared with the steps before them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace perfprobe {

class SlowSteps {
 public:
  // A step is slow if it is longer than the 95th percentile of the last 200 steps and longer than
  // 1.2 times their median, both by nearest rank. Steps with fewer than kLeast before them are not.
  bool is_slow(int64_t time_ns) {
    const bool slow = is_beyond(time_ns);
    last_ns_[next_] = time_ns;
    next_ = (next_ + 1) % kMost;
    known_ = std::min(known_ + 1, kMost);
    return slow;
  }

 private:
  static constexpr size_t kMost = 200;
  static constexpr size_t kLeast = 20;

  [[nodiscard]] bool is_beyond(int64_t time_ns) const {
    if (known_ < kLeast)
      return false;
    std::array<int64_t, kMost> ordered = last_ns_;
    const auto end = ordered.begin() + static_cast<std::ptrdiff_t>(known_);
    const auto rank = [&](size_t percent) {
      const auto at = static_cast<std::ptrdiff_t>((known_ * percent + 99) / 100 - 1);
      std::nth_element(ordered.begin(), ordered.begin() + at, end);
      return ordered[static_cast<size_t>(at)];
    };
    return 5 * time_ns > 6 * rank(50) && time_ns > rank(95);
  }

  std::array<int64_t, kMost> last_ns_{};
  size_t next_ = 0;
  size_t known_ = 0;
};

}  // namespace perfprobe
