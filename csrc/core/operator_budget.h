// Limits what recording operators costs a process, to a part of its CPU time.
//
// A worker of a DataLoader may run 150,000 small operators a second. All are recorded until the
// budget is spent, then none until a heartbeat finds that enough of it is available again. They are
// recorded in whole stretches of time, so that nesting and order in these are complete.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "core/budget_port.h"
#include "core/recorder.h"
#include "core/row_table.h"

namespace perfprobe {

// A time in which operators were recorded. Without any row they always were.
struct OperatorWindow {
  int64_t start_ns, end_ns;

  static constexpr std::string_view kTable = "operator_windows";
  static constexpr auto columns() {
    using Row = OperatorWindow;
    return std::array{column<&Row::start_ns>("start_ns"), column<&Row::end_ns>("end_ns")};
  }
};

// Never destroyed: the writer may still call it.
class OperatorBudget final : public BudgetPort {
 public:
  // most_cost: of the process's CPU time from `start` on. A short process may spend `kFirstNs`.
  OperatorBudget(Recorder& recorder, double most_cost);
  OperatorBudget(const OperatorBudget&) = delete;
  OperatorBudget& operator=(const OperatorBudget&) = delete;

  void start();
  void stop();
  void spend(int64_t cost_ns) override;
  void set_switch(void (*turn)(bool on)) override;

  static constexpr int64_t kFirstNs = 2'000'000;
  // Recording goes on once this much can be spent.
  static constexpr int64_t kLeastNs = 2'000'000;

 private:
  static void ring(void* self);
  void beat();
  void switch_to(bool on);
  [[nodiscard]] int64_t left_ns() const;

  Recorder& recorder_;
  const double most_cost_;
  std::mutex mutex_;
  bool runs_ = false;
  bool is_on_ = true;
  bool was_limited_ = false;
  int64_t begun_cpu_ns_ = 0;
  int64_t spent_ns_ = 0;
  int64_t on_ns_ = 0;  // when recording last began
  void (*turn_)(bool) = nullptr;
  RowTable<OperatorWindow> rows_;
};

}  // namespace perfprobe
