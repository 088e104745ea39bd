// Which steps are recorded with their operators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace perfprobe {

struct StepSchedule {
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

  // A window of steps, from 0, half-open. Repeated: behind its end the same number of steps passes
  // as before it, then it comes again.
  int64_t first = 0;
  int64_t end = kNoEnd;
  int64_t windows = 1;
  int64_t duration_ns = kNoEnd;  // behind the beginning of the first window
  // So many steps of the window are left out, every second one from this place in it on: what the
  // others are compared with.
  int64_t baseline = 0;
  int64_t baseline_first = 0;
  bool keeps_slow = false;  // keep rows of operators of slow steps only
  // Recording may take this part of the program's CPU time: see StepBudget. 0: no limit.
  double most_cost = 0;

  [[nodiscard]] bool is_over(int64_t step) const { return end != kNoEnd && step / end >= windows; }
  [[nodiscard]] bool is_within(int64_t step) const {
    if (end == kNoEnd)
      return step >= first;
    return end > first && !is_over(step) && step % end >= first;
  }
  [[nodiscard]] bool is_baseline(int64_t step) const {
    const int64_t place = step - first - baseline_first;
    return is_within(step) && place >= 0 && place % 2 == 0 && place / 2 < baseline;
  }
  [[nodiscard]] bool records(int64_t step) const { return is_within(step) && !is_baseline(step); }
};

}  // namespace perfprobe
