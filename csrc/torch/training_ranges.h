// Phases and steps of a training loop as free ranges beside those of operators.
//
// A phase is a run of outermost operators of one kind on a thread: "forward" (also all that is
// neither of the others), "backward", "optimizer". It ends when the thread goes on with another
// kind, or, while the thread is idle, when another thread begins another kind: backward may run on
// threads of its own. An optimizer's phase ends with its operator. Step N ends with the N-th
// `Optimizer.step#...`, and the next one begins there: waiting for data belongs to the step it is
// for. The report's steps (analyse/steps.py) also know evaluation, optimizers that take turns and
// loops without any: that shows only in what comes later, and a range that has begun has its name.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "torch/range_messages.h"

namespace perfprobe {

// What an operator is by its name. `any`: says nothing about the phase (ranges of the program's).
enum class Kind : uint8_t { any, forward, backward, optimizer, optimizer_step };

// Of one thread.
struct ThreadPhase {
  std::atomic<Kind> kind{Kind::any};  // of the open range; `any`: there is none
  std::atomic<bool> is_busy{false};   // inside of an outermost operator
  uint64_t range = 0;                 // under the mutex of TrainingRanges
};

class TrainingRanges {
 public:
  static constexpr int kMostSteps = 10'000;  // further ones are called "step": messages stay few

  TrainingRanges(const EmissionPort& port, RangeMessages& messages)
      : port_(port), messages_(messages) {}
  TrainingRanges(const TrainingRanges&) = delete;
  TrainingRanges& operator=(const TrainingRanges&) = delete;

  void start();
  // Ends all that is open.
  void stop();

  // An outermost operator begins.
  void begin_operator(ThreadPhase& phase, Kind kind) {
    phase.is_busy.store(true, std::memory_order_relaxed);
    const Kind shown = kind == Kind::optimizer_step ? Kind::optimizer : kind;
    if (phase.kind.load(std::memory_order_relaxed) != shown) [[unlikely]]
      begin_phase(phase, shown);
  }
  // It ends.
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
