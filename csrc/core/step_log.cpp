#include "core/step_log.h"

#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/thread_name.h"

namespace perfprobe {
namespace {

std::atomic<StepLog*> current{nullptr};

// A forked child has no recording, and a thread that it does not have may hold the lock.
void forget_in_child() {
  current = nullptr;
}

}  // namespace

StepLog::StepLog(Recorder& recorder, const StepSchedule& schedule, int64_t every, int64_t warm_up)
    : recorder_(recorder),
      every_(every),
      thread_rows_(recorder),
      schedule_(schedule),
      line_(warm_up) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, forget_in_child);
  static_cast<void>(fork_handler);
}

void StepLog::start() {
  const std::lock_guard lock(mutex_);
  runs_ = true;
  is_on_ = wants();
  line_.find_stderr();
  recorder_.set_heartbeat_alarm(&StepLog::ring, this);
  current = this;
}

void StepLog::stop() {
  current = nullptr;
  const std::lock_guard lock(mutex_);
  if (!std::exchange(runs_, false))
    return;
  take(steps_.finish());
  rows_.write(recorder_);
  rows_ = {};
  line_.print(std::exchange(text_, {}));
  turn_ = nullptr;
  turned_ = nullptr;
}

void StepLog::see(const LoopMoment& moment) {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  try {
    take(steps_.see(moment));
  } catch (const std::bad_alloc&) {  // the step has no row; the program goes on
  }
  if (wants() != is_on_)
    switch_to(!is_on_);
}

void StepLog::set_switch(void (*turn)(bool on)) {
  const std::lock_guard lock(mutex_);
  turn_ = turn;
  if (turn_ != nullptr && !is_on_)
    turn_(false);
}

void StepLog::set_listener(void (*turned)(void* argument, bool on), void* argument) {
  const std::lock_guard lock(mutex_);
  turned_ = turned;
  turned_argument_ = argument;
}

void StepLog::record_next(int64_t steps) {
  const std::lock_guard lock(mutex_);
  const int64_t first = steps_.number() + 1;
  schedule_ = {};
  schedule_.first = first;
  schedule_.end = first + steps;
}

bool StepLog::is_over() const {
  return has_recorded_ && schedule_.is_over(steps_.number());
}

bool StepLog::wants() const {
  return schedule_.records(steps_.number());
}

// What began before the switch is not counted as recorded: of a step, all is recorded or nothing.
void StepLog::switch_to(bool on) {
  is_on_ = on;
  has_recorded_ = has_recorded_ || on;
  if (turn_ != nullptr)
    turn_(on);
  if (turned_ != nullptr)
    turned_(turned_argument_, on);
}

void StepLog::take(const std::vector<LiveStep>& ended) {
  for (LiveStep step : ended) {
    if (thread_ == kNone || os_thread_ != steps_.os_thread()) {
      os_thread_ = steps_.os_thread();
      thread_ = thread_rows_.add(os_thread_, [this] { return thread_name(os_thread_); });
    }
    step.thread = thread_;
    step.is_recorded = is_on_;
    rows_.add(step);
    line_.add(step);
    if (every_ == 0 || step.is_evaluation || line_.steps() < every_)
      continue;
    text_ += line_.take(step.number);
    recorder_.set_alarm(monotonic_ns(), &StepLog::ring_line, this);
  }
}

void StepLog::ring(void* self) {
  static_cast<StepLog*>(self)->beat();
}

void StepLog::beat() {
  RowTable<LiveStep> rows;
  {
    const std::lock_guard lock(mutex_);
    if (!runs_)
      return;
    std::swap(rows, rows_);
    recorder_.set_heartbeat_alarm(&StepLog::ring, this);
  }
  try {
    rows.write(recorder_);
  } catch (const std::bad_alloc&) {  // those of half a second are gone
  }
}

void StepLog::ring_line(void* self) {
  static_cast<StepLog*>(self)->write_line();
}

void StepLog::write_line() {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text.swap(text_);
  }
  line_.print(text);
}

void StepLog::mark(LoopEvent event) {
  StepLog* log = current;
  if (log != nullptr)
    log->see({.event = event,
              .has_optimizer = false,
              .time_ns = monotonic_ns(),
              .os_thread = ::syscall(SYS_gettid),
              .site = 0,
              .samples = kNotKnown});
}

bool StepLog::is_running() {
  return current != nullptr;
}

}  // namespace perfprobe
