// Sets phases and steps of a training loop as free ranges beside those of operators.
//
// A phase is a sequence of outermost operators of one kind on a thread: "forward" (also everything
// that is neither of the others), "backward", "optimizer". It ends when the thread runs another
// kind, or, while the thread is idle, when another thread begins another kind, because backward may
// run on other threads. The phase of an optimizer ends with its operator. Step N ends with the N-th
// `Optimizer.step#...`, and the next step begins there, so waiting for data belongs to the step
// that uses the data. The report's steps (analyse/steps.py) also know evaluation, alternating
// optimizers and loops without any. These can only be recognized later, when the name of a range
// can no longer change.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "torch/range_messages.h"

namespace perfprobe {

// The kind of an operator by its name. `any`: the name says nothing about the phase (ranges of the
// program).
enum class Kind : uint8_t { any, forward, backward, optimizer, optimizer_step };

// The phase of one thread.
struct ThreadPhase {
  std::atomic<Kind> kind{Kind::any};  // of the open range; `any`: no range is open
  std::atomic<bool> is_busy{false};   // inside an outermost operator
  uint64_t range = 0;                 // guarded by the mutex of TrainingRanges
};

class TrainingRanges {
 public:
  static constexpr int kMostSteps =
      10'000;  // further ones are called "step", so that there are few messages

  TrainingRanges(const EmissionPort& port, RangeMessages& messages)
      : port_(port), messages_(messages) {}
  TrainingRanges(const TrainingRanges&) = delete;
  TrainingRanges& operator=(const TrainingRanges&) = delete;

  void start();
  // Ends all open ranges.
  void stop();

  // An outermost operator begins.
  void begin_operator(ThreadPhase& phase, Kind kind) {
    phase.is_busy.store(true, std::memory_order_relaxed);
    const Kind shown = kind == Kind::optimizer_step ? Kind::optimizer : kind;
    if (phase.kind.load(std::memory_order_relaxed) != shown) [[unlikely]]
      begin_phase(phase, shown);
  }
  // The operator ends.
  void end_operator(ThreadPhase& phase, Kind kind) {
    phase.is_busy.store(false, std::memory_order_relaxed);
    if (kind >= Kind::optimizer) [[unlikely]]
      end_optimizer(phase, kind == Kind::optimizer_step);
  }
  // The thread ends.
  void end_thread(ThreadPhase& phase);

 private:
  void begin_phase(ThreadPhase& phase, Kind kind);
  void end_optimizer(ThreadPhase& phase, bool is_step);
  void end_phase(ThreadPhase& phase);
  void begin_step();
  uint64_t begin(const std::string& text);

  const EmissionPort& port_;
  RangeMessages& messages_;
  std::mutex mutex_;
  bool running_ = false;
  std::vector<ThreadPhase*> open_;
  int steps_ = 0;
  uint64_t step_ = 0;
};

}  // namespace perfprobe
