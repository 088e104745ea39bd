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
#include "core/step_line.h"
#include "core/step_schedule.h"
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
  void set_switch(void (*turn)(bool on)) override;
  // Something else that is switched with it, also on the loop's thread.
  void set_listener(void (*turned)(void* argument, bool on), void* argument);
  // Another window: so many steps from the next one on. 0: no more.
  void record_next(int64_t steps);

  // Of the log that runs: what perfprobe.step() marks.
  static void mark(LoopEvent event);
  [[nodiscard]] static bool is_running();

  [[nodiscard]] int64_t steps() const { return steps_.number(); }
  [[nodiscard]] int64_t foreign() const { return steps_.foreign(); }
  [[nodiscard]] bool is_recording() const { return is_on_; }
  // Whether a step was recorded, and no window is left.
  [[nodiscard]] bool is_over() const;

 private:
  static void ring(void* self);
  static void ring_line(void* self);
  void beat();
  void take(const std::vector<LiveStep>& ended);
  [[nodiscard]] bool wants() const;
  void switch_to(bool on);
  void write_line();

  Recorder& recorder_;
  const int64_t every_;
  ThreadRows thread_rows_;
  std::mutex mutex_;
  StepSchedule schedule_;
  bool runs_ = false;
  std::atomic<bool> is_on_{true};
  bool has_recorded_ = false;
  void (*turn_)(bool) = nullptr;
  void (*turned_)(void*, bool) = nullptr;
  void* turned_argument_ = nullptr;
  LiveSteps steps_;
  int64_t os_thread_ = 0;
  int32_t thread_ = kNone;
  RowTable<LiveStep> rows_;
  StepLine line_;
  std::string text_;  // the line that the writer is to print
};

}  // namespace perfprobe
