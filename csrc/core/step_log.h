// The steps of a loop as they are found, into the recording; and when operators are recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "core/live_steps.h"
#include "core/loop_port.h"
#include "core/recorder.h"
#include "core/row_table.h"
#include "core/slow_steps.h"
#include "core/step_budget.h"
#include "core/step_line.h"
#include "core/step_schedule.h"
#include "core/step_sums.h"
#include "core/step_usage.h"
#include "core/thread_rows.h"

namespace perfprobe {

// Never destroyed: the writer may still call it. One at a time.
class StepLog final : public LoopPort {
 public:
  // every: steps after which a line is written on standard error, 0 none; warm_up: steps that are
  // not in these lines.
  StepLog(Recorder& recorder, const StepSchedule& schedule, int64_t every, int64_t warm_up);
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  void start();
  void stop();
  void see(const LoopMoment& moment) override;
  void set_switch(void (*turn)(bool on), int64_t (*spent_ns)()) override;
  // So many more steps, behind those asked for before; from which step on.
  int64_t record_next(int64_t steps);
  // Called once, on the loop's thread, when no window is left. It must not wait.
  void set_end(void (*over)());

  // Of the log that runs: what perfprobe.step() marks.
  static void mark(LoopEvent event);
  [[nodiscard]] static bool is_running();

  [[nodiscard]] int64_t steps() const { return steps_.number(); }
  [[nodiscard]] int64_t foreign() const { return steps_.foreign(); }
  [[nodiscard]] int64_t recorded() const { return recorded_; }
  // Number of slow steps of which only some rows are kept (partial) or none (unkept), and of steps
  // without a row in `live_steps` (unlisted).
  [[nodiscard]] int64_t partial() const { return partial_; }
  [[nodiscard]] int64_t unkept() const { return unkept_; }
  [[nodiscard]] int64_t unlisted() const { return unlisted_; }
  [[nodiscard]] int64_t baseline() const { return baseline_; }
  // Number of steps that the budget left out.
  [[nodiscard]] int64_t timed() const { return timed_; }

 private:
  static void ring(void* self);
  static void ring_line(void* self);
  void beat();
  void take(const std::vector<LiveStep>& ended, int64_t now_ns);
  void measure(LiveStep& step, int64_t now_ns);
  void choose(LiveStep& step);
  void list(const LiveStep& step);
  [[nodiscard]] bool are_sums_due(int64_t now_ns) const;
  void write_sums(int64_t now_ns, const StepSum& sum);
  void follow_schedule(int64_t time_ns);
  void follow_windows();
  void follow_budget(int64_t time_ns);
  void go_on_behind_loop(int64_t now_ns);
  void write_line();

  Recorder& recorder_;
  const int64_t every_;
  ThreadRows thread_rows_;
  std::mutex mutex_;
  StepSchedule schedule_;
  bool runs_ = false;
  std::atomic<bool> is_on_{true};
  bool is_over_ = false;
  int64_t first_on_ns_ = -1;
  int64_t recorded_ = 0;  // steps
  int64_t baseline_ = 0;  // those left unrecorded to measure what recording adds
  int64_t timed_ = 0;     // and by the budget
  StepBudget budget_;
  bool is_within_budget_ = true;
  bool is_only_timed_ = false;
  int64_t budgeted_ = 0;     // the step that the budget has decided on
  int64_t budgeted_ns_ = 0;  // when it began
  int64_t longest_ns_ = 0;   // of the steps so far
  bool is_late_ = false;     // it is recorded from its middle on, as the loop seemed to have ended
  void (*turn_)(bool) = nullptr;
  int64_t (*spent_ns_)() = nullptr;
  void (*over_)() = nullptr;
  LiveSteps steps_;
  int64_t os_thread_ = 0;
  int32_t thread_ = kNone;
  RowTable<LiveStep> rows_;
  bool is_mixed_ = false;   // the usage since the last reading includes an evaluation's
  bool is_unread_ = false;  // or that of a step at whose end nothing was read
  StepUsage usage_;
  // With --keep slow.
  SlowSteps slow_;
  StepSums sums_;
  int64_t started_ns_ = 0;
  int64_t sums_ns_ = 0;  // when sums were written last
  int64_t listed_ = 0;   // steps with a row in `live_steps`
  int64_t unlisted_ = 0;
  int64_t partial_ = 0;
  int64_t unkept_ = 0;
  StepLine line_;
  std::string text_;  // the line that the writer is to print
};

}  // namespace perfprobe
