#include "torch/training_ranges.h"

#include <array>
#include <new>

namespace perfprobe {
namespace {

constexpr std::array<const char*, 4> kTexts = {"", "forward", "backward", "optimizer"};  // by Kind

}  // namespace

void TrainingRanges::start() {
  const std::lock_guard lock(mutex_);
  running_ = true;
  steps_ = 0;
  begin_step();
}

void TrainingRanges::stop() {
  const std::lock_guard lock(mutex_);
  running_ = false;
  while (!open_.empty())
    end_phase(*open_.back());
  port_.end(step_);
}

void TrainingRanges::begin_phase(ThreadPhase& phase, Kind kind) {
  const std::lock_guard lock(mutex_);
  if (!running_)
    return;
  end_phase(phase);
  for (size_t i = open_.size(); i-- > 0;) {
    if (open_[i]->kind != kind && !open_[i]->is_busy)
      end_phase(*open_[i]);
  }
  phase.range = 0;  // stays if the following code throws
  open_.push_back(&phase);
  phase.range = begin(kTexts.at(static_cast<size_t>(kind)));
  phase.kind = kind;
}

void TrainingRanges::end_optimizer(ThreadPhase& phase, bool is_step) {
  const std::lock_guard lock(mutex_);
  if (!running_)
    return;
  end_phase(phase);
  if (!is_step)
    return;
  port_.end(step_);
  begin_step();
}

void TrainingRanges::end_thread(ThreadPhase& phase) {
  const std::lock_guard lock(mutex_);
  end_phase(phase);
}

void TrainingRanges::end_phase(ThreadPhase& phase) {
  if (std::erase(open_, &phase) == 0)
    return;
  port_.end(phase.range);
  phase.kind = Kind::any;
}

// Also called at the end of an operator, where nothing may be thrown.
void TrainingRanges::begin_step() try {
  ++steps_;
  step_ = 0;
  step_ = begin(steps_ <= kMostSteps ? "step " + std::to_string(steps_) : "step");
} catch (const std::bad_alloc&) {  // this step has no range
}

uint64_t TrainingRanges::begin(const std::string& text) {
  return port_.begin(messages_[messages_.add_name(text)].handle);
}

}  // namespace perfprobe
