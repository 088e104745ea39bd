// Which steps are recorded, in a simulated program whose recording costs as much as it is told.
#include "core/step_budget.h"

#include <cmath>
#include <cstdint>

#include "check.h"

using perfprobe::Spent;
using perfprobe::StepBudget;

namespace {

constexpr int64_t kStepNs = 20'000'000;

// A program whose steps take `kStepNs` of CPU time, and `costs` of that more if they are recorded.
struct Simulated {
  StepBudget& budget;
  Spent spent{.time_ns = 1, .cpu_ns = 0, .recording_ns = 0, .writer_ns = 0};
  int64_t program_ns = 0;
  int recorded = 0;
  int longest_pause = 0;

  void run(int steps, double costs, double of_writer = 0) {
    int pause = 0;
    for (int i = 0; i < steps; ++i) {
      const bool is_on = budget.choose(spent);
      const auto own_ns = static_cast<int64_t>(is_on ? costs * kStepNs : 0);
      const auto writer_ns = static_cast<int64_t>(of_writer * static_cast<double>(own_ns));
      spent.recording_ns += own_ns;
      spent.writer_ns += writer_ns;
      spent.cpu_ns += kStepNs + own_ns + writer_ns;
      spent.time_ns += kStepNs + own_ns;
      program_ns += kStepNs;
      recorded += is_on ? 1 : 0;
      pause = is_on ? 0 : pause + 1;
      longest_pause = pause > longest_pause ? pause : longest_pause;
    }
  }
  void forget() {
    program_ns = spent.recording_ns = spent.writer_ns = 0;
    recorded = 0;
  }
  [[nodiscard]] double share() const {
    return static_cast<double>(spent.cpu_ns - program_ns) / static_cast<double>(program_ns);
  }
};

void all_steps_are_recorded_below_the_budget() {
  StepBudget budget(0.05, 1);
  Simulated program{budget};
  program.run(1000, 0.02, 0.1);
  CHECK_EQUAL(program.recorded, 1000);
}

void the_mean_cost_stays_within_the_budget() {
  for (const uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    StepBudget budget(0.05, seed);
    Simulated program{budget};
    program.run(10'000, 0.3, 0.3);
    CHECK(program.share() < 0.05);
    CHECK(program.recorded > 10'000 / 20);
  }
}

void the_first_steps_are_recorded_whatever_they_cost() {
  StepBudget budget(0.01, 1);
  Simulated program{budget};
  program.run(StepBudget::kFirst, 1);
  CHECK_EQUAL(program.recorded, StepBudget::kFirst);
  program.run(100, 1);
  CHECK(program.recorded < StepBudget::kFirst + 10);
}

// No two of many choices depend on each other: a step that comes every tenth time is chosen as
// often as others.
void choices_do_not_follow_a_period() {
  StepBudget budget(0.1, 7);
  Simulated program{budget};
  program.run(200, 0.3);
  int tenth = 0;
  int others = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int before = program.recorded;
    program.run(1, 0.3);
    (i % 10 == 0 ? tenth : others) += program.recorded - before;
  }
  const double expected = others / 9.0;
  CHECK(std::abs(tenth - expected) < 4 * std::sqrt(expected));
  CHECK(program.longest_pause > 10);
}

void a_program_that_becomes_cheap_is_recorded_again() {
  StepBudget budget(0.05, 3);
  Simulated program{budget};
  program.run(2000, 0.4);
  program.run(2000, 0.01);
  program.recorded = 0;
  program.run(500, 0.01);
  CHECK_EQUAL(program.recorded, 500);
}

void nothing_is_chosen_more_often_than_a_switch_is_worth() {
  const StepBudget fresh(0.05, 1);
  CHECK(fresh.is_due(1));
  StepBudget budget(0.05, 1);
  budget.choose({.time_ns = 10, .cpu_ns = 0, .recording_ns = 0, .writer_ns = 0});
  CHECK(!budget.is_due(StepBudget::kShortestNs));
  CHECK(budget.is_due(10 + StepBudget::kShortestNs));
  CHECK(!StepBudget(0, 1).is_limited());
}

}  // namespace

int main() {
  all_steps_are_recorded_below_the_budget();
  the_mean_cost_stays_within_the_budget();
  the_first_steps_are_recorded_whatever_they_cost();
  choices_do_not_follow_a_period();
  a_program_that_becomes_cheap_is_recorded_again();
  nothing_is_chosen_more_often_than_a_switch_is_worth();
  return perfprobe::test::report();
}
