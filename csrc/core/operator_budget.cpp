#include "core/operator_budget.h"

#include <new>
#include <utility>

#include "core/clock.h"

namespace perfprobe {

OperatorBudget::OperatorBudget(Recorder& recorder, double most_cost)
    : recorder_(recorder), most_cost_(most_cost) {}

void OperatorBudget::start() {
  const std::lock_guard lock(mutex_);
  runs_ = true;
  begun_cpu_ns_ = process_cpu_ns();
  on_ns_ = monotonic_ns();
}

void OperatorBudget::stop() {
  const std::lock_guard lock(mutex_);
  turn_ = nullptr;
  if (!std::exchange(runs_, false) || !was_limited_)
    return;
  if (is_on_)
    rows_.add({on_ns_, monotonic_ns()});
  rows_.write(recorder_);
  rows_ = {};
}

void OperatorBudget::set_switch(void (*turn)(bool on)) {
  const std::lock_guard lock(mutex_);
  turn_ = turn;
}

int64_t OperatorBudget::left_ns() const {
  const auto used_ns = static_cast<double>(process_cpu_ns() - begun_cpu_ns_);
  return kFirstNs + static_cast<int64_t>(most_cost_ * used_ns) - spent_ns_;
}

void OperatorBudget::spend(int64_t cost_ns) {
  const std::lock_guard lock(mutex_);
  spent_ns_ += cost_ns;
  if (runs_ && is_on_ && turn_ != nullptr && left_ns() < 0)
    switch_to(false);
}

// The writer looks only while nothing is recorded: a process that never spends its budget pays
// nothing for it.
void OperatorBudget::switch_to(bool on) try {
  turn_(on);
  is_on_ = on;
  if (on) {
    on_ns_ = monotonic_ns();
    return;
  }
  was_limited_ = true;
  rows_.add({on_ns_, monotonic_ns()});
  recorder_.set_heartbeat_alarm(&OperatorBudget::ring, this);
} catch (const std::bad_alloc&) {  // this window has no row
}

void OperatorBudget::ring(void* self) {
  static_cast<OperatorBudget*>(self)->beat();
}

void OperatorBudget::beat() {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  rows_.write(recorder_);
  if (turn_ != nullptr && !is_on_ && left_ns() >= kLeastNs)
    switch_to(true);
  else
    recorder_.set_heartbeat_alarm(&OperatorBudget::ring, this);
}

}  // namespace perfprobe
