#include "core/step_budget.h"

#include <algorithm>
#include <cmath>

namespace perfprobe {
namespace {

constexpr double kMemoryNs = 3e9;  // what is older counts less than a third

// How much more recording takes than its own code: the program's caches are colder behind it.
// Paired runs measured 1.2 to 2.4 times as much (perfprobe/report/rows/own_cost.py).
constexpr double kUnseen = 1.5;

}  // namespace

bool StepBudget::choose(const Spent& now) {
  if (choices_ == 0)
    begun_cpu_ns_ = now.cpu_ns;
  else
    learn(now);
  last_ = now;
  const bool is_first = choices_ < kFirst && now.cpu_ns - begun_cpu_ns_ < kFirstNs;
  choices_ += is_first ? 1 : 0;
  if (!is_first && cost() > most_)
    is_on_ = std::uniform_real_distribution<>()(random_) * cost() < most_;
  else
    is_on_ = true;
  return is_on_;
}

double StepBudget::cost() const {
  return program_ns_ > 0 ? recording_ns_ / program_ns_ : 0;
}

// The writer's time comes later than the operators that it writes, so its part is that of all.
void StepBudget::learn(const Spent& now) {
  if (!is_on_)
    return;
  const auto since = [&now, this](auto member) {
    return static_cast<double>(now.*member - last_.*member);
  };
  const double writer =
      static_cast<double>(now.writer_ns) / std::max(static_cast<double>(now.recording_ns), 1.0);
  const double recording_ns = since(&Spent::recording_ns) * (kUnseen + writer);
  const double fade = std::exp(-since(&Spent::time_ns) / kMemoryNs);
  recording_ns_ = recording_ns_ * fade + recording_ns;
  program_ns_ = program_ns_ * fade + std::max(since(&Spent::cpu_ns) - recording_ns, 0.0);
}

}  // namespace perfprobe
