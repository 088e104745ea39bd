#include "core/step_sums.h"

#include <algorithm>
#include <utility>

namespace perfprobe {
namespace {

void add_known(int64_t& sum, int64_t value) {
  sum = sum < 0 || value < 0 ? -1 : sum + value;
}

}  // namespace

void StepSums::add(const LiveStep& step) {
  const int64_t time_ns = step.end_ns - step.start_ns;
  if (sum_.steps == 0) {
    sum_.start_ns = step.start_ns;
    sum_.least_ns = time_ns;
  }
  ++sum_.steps;
  sum_.end_ns = step.end_ns;
  sum_.slow += step.is_slow ? 1 : 0;
  sum_.total_ns += time_ns;
  sum_.least_ns = std::min(sum_.least_ns, time_ns);
  sum_.most_ns = std::max(sum_.most_ns, time_ns);
  add_known(sum_.reader_ns, step.reader_ns);
  add_known(sum_.cpu_ns, step.cpu_ns);
  add_known(sum_.waited_ns, step.waited_ns);
  add_known(sum_.collected_ns, step.collected_ns);
  add_known(sum_.samples, step.samples);
  if (drawn_ns_.size() < kDrawn) {
    drawn_ns_.push_back(time_ns);
    return;
  }
  const auto at =
      static_cast<size_t>(std::uniform_int_distribution<int64_t>(0, sum_.steps - 1)(random_));
  if (at < kDrawn)
    drawn_ns_[at] = time_ns;
}

StepSum StepSums::take() {
  std::sort(drawn_ns_.begin(), drawn_ns_.end());
  const auto rank = [this](size_t percent) {
    return drawn_ns_[(drawn_ns_.size() * percent + 99) / 100 - 1];
  };
  if (!drawn_ns_.empty()) {
    sum_.median_ns = rank(50);
    sum_.p95_ns = rank(95);
  }
  drawn_ns_.clear();
  return std::exchange(sum_, {});
}

}  // namespace perfprobe
