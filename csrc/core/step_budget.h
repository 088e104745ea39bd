// Chooses the steps that are recorded with their operators, so that recording costs a bounded part
// of the CPU time that the program itself uses.
//
// While all of them cost less, all are recorded. Else each is with the same probability, never in a
// fixed order: a program that logs every tenth step would otherwise show it always or never.
#pragma once

#include <cstdint>
#include <random>

namespace perfprobe {

// What has been used so far.
struct Spent {
  int64_t time_ns;
  int64_t cpu_ns;        // by the process
  int64_t recording_ns;  // the part of it that recording operators took, by an estimate
  int64_t writer_ns;     // and what the writer took
};

// Not thread-safe.
class StepBudget {
 public:
  // most: the part that recording may take, such as 0.05; 0 for no limit.
  StepBudget(double most, uint64_t seed) : most_(most), random_(seed) {}

  [[nodiscard]] bool is_limited() const { return most_ > 0; }
  // Whether so much time has passed since the last choice that it is worth another one. Steps in
  // between are as the one before: a switch takes some microseconds.
  [[nodiscard]] bool is_due(int64_t time_ns) const {
    return last_.time_ns == 0 || time_ns - last_.time_ns >= kShortestNs;
  }
  // Returns whether the steps from now on are recorded.
  bool choose(const Spent& now);
  // The part of the program's CPU time that recording all steps would take; 0 if not known.
  [[nodiscard]] double cost() const;

  static constexpr int64_t kShortestNs = 5'000'000;
  // The first ones are recorded whatever they cost: so many choices, or so much CPU time.
  static constexpr int kFirst = 30;
  static constexpr int64_t kFirstNs = 2'000'000'000;

 private:
  void learn(const Spent& now);

  const double most_;
  std::minstd_rand random_;
  Spent last_{};
  int64_t begun_cpu_ns_ = 0;
  int choices_ = 0;
  bool is_on_ = true;
  // Of recorded steps, older ones counting less.
  double recording_ns_ = 0;
  double program_ns_ = 0;
};

}  // namespace perfprobe
