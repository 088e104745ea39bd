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
  follow_schedule(-1);
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
  over_ = nullptr;
}

void StepLog::see(const LoopMoment& moment) {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  try {
    take(steps_.see(moment));
  } catch (const std::bad_alloc&) {  // the step has no row; the program goes on
  }
  follow_schedule(moment.time_ns);
}

void StepLog::set_switch(void (*turn)(bool on)) {
  const std::lock_guard lock(mutex_);
  turn_ = turn;
  if (turn_ != nullptr && !is_on_)
    turn_(false);
}

void StepLog::set_end(void (*over)()) {
  const std::lock_guard lock(mutex_);
  over_ = over;
}

int64_t StepLog::record_next(int64_t steps) {
  const std::lock_guard lock(mutex_);
  const int64_t number = steps_.number();
  const bool is_open = schedule_.end != StepSchedule::kNoEnd && !schedule_.is_over(number);
  const int64_t from = is_open ? schedule_.end : number + 1;
  schedule_ = {.first = is_open ? schedule_.first : from, .end = from + steps};
  is_over_ = false;
  return from;
}

void StepLog::follow_schedule(int64_t time_ns) {
  const bool is_late = first_on_ns_ >= 0 && time_ns - first_on_ns_ >= schedule_.duration_ns;
  if (!is_over_ && (is_late || schedule_.is_over(steps_.number()))) {
    is_over_ = true;
    if (over_ != nullptr)
      over_();
  }
  const bool wanted = !is_over_ && schedule_.records(steps_.number());
  if (wanted && first_on_ns_ < 0)
    first_on_ns_ = time_ns;
  if (wanted == is_on_)
    return;
  is_on_ = wanted;
  if (turn_ != nullptr)
    turn_(wanted);
}

void StepLog::take(const std::vector<LiveStep>& ended) {
  for (LiveStep step : ended) {
    if (thread_ == kNone || os_thread_ != steps_.os_thread()) {
      os_thread_ = steps_.os_thread();
      thread_ = thread_rows_.add(os_thread_, [this] { return thread_name(os_thread_); });
    }
    step.thread = thread_;
    step.is_recorded = is_on_;
    recorded_ += is_on_ && !step.is_evaluation ? 1 : 0;
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
