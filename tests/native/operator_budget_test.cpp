// Recording is switched off once the budget is spent, and on again once it lasts for a while.
#include "core/operator_budget.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>

#include "check.h"
#include "core/clock.h"

using perfprobe::OperatorBudget;
using perfprobe::Recorder;

namespace {

constexpr int64_t kFlushNs = 5'000'000;

std::atomic<bool> is_on{true};
std::atomic<int> turns{0};

void turn(bool on) {
  is_on = on;
  ++turns;
}

void use_cpu(int64_t cpu_ns) {
  const int64_t end_ns = perfprobe::thread_cpu_ns() + cpu_ns;
  while (perfprobe::thread_cpu_ns() < end_ns) {
  }
}

// The budget and its recorder are never destroyed. Kept here for the leak checker.
OperatorBudget& made(double most_cost, const std::string& path) {
  static Recorder* recorder = nullptr;
  static OperatorBudget* budget = nullptr;
  recorder = new Recorder(path, 1, kFlushNs);
  budget = new OperatorBudget(*recorder, most_cost);
  is_on = true;
  turns = 0;
  budget->start();
  budget->set_switch(turn);
  return *budget;
}

void it_is_on_while_the_budget_lasts(const std::string& folder) {
  OperatorBudget& budget = made(0.5, folder + "/lasts");
  for (int i = 0; i < 10; ++i) {
    use_cpu(2'000'000);
    budget.spend(500'000);
  }
  CHECK(is_on);
  CHECK_EQUAL(turns.load(), 0);
  budget.stop();
}

// What is spent beyond the budget must be earned again, by CPU time of the process.
void it_is_off_until_there_is_budget_again(const std::string& folder) {
  OperatorBudget& budget = made(0.5, folder + "/off");
  budget.spend(OperatorBudget::kFirstNs + 20'000'000);
  CHECK(!is_on);
  budget.spend(1);  // of a chunk that another thread had begun
  CHECK_EQUAL(turns.load(), 1);
  std::this_thread::sleep_for(std::chrono::nanoseconds(4 * kFlushNs));
  CHECK(!is_on);
  use_cpu(60'000'000);
  for (int i = 0; i < 1000 && !is_on; ++i)
    std::this_thread::sleep_for(std::chrono::nanoseconds(kFlushNs));
  CHECK(is_on);
  CHECK_EQUAL(turns.load(), 2);
  budget.stop();
  budget.spend(1'000'000'000);
  CHECK(is_on);  // it has ended
}

}  // namespace

int main() {
  char pattern[] = "/tmp/perfprobe-test-XXXXXX";
  const std::string folder = mkdtemp(pattern);
  it_is_on_while_the_budget_lasts(folder);
  it_is_off_until_there_is_budget_again(folder);
  return perfprobe::test::report();
}
