#include "core/step_log.h"

#include <algorithm>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/kept_spans.h"
#include "core/thread_name.h"
#include "core/watching.h"

namespace perfprobe {
namespace {

// A reading takes 8 us, all else 4: 0.3 % of such a step. What shorter ones use is only read if
// asked for.
constexpr int64_t kShortNs = 4'000'000;

std::atomic<StepLog*> current{nullptr};

// A forked child has no recording, and a thread that it does not have may hold the lock.
void forget_in_child() {
  current = nullptr;
  is_watching = is_in_window = true;
  window_changed = nullptr;
}

}  // namespace

StepLog::StepLog(Recorder& recorder, const StepSchedule& schedule, int64_t every, int64_t warm_up)
    : recorder_(recorder),
      every_(every),
      thread_rows_(recorder),
      schedule_(schedule),
      budget_(schedule.most_cost, static_cast<uint64_t>(monotonic_ns())),
      line_(warm_up) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, forget_in_child);
  static_cast<void>(fork_handler);
}

void StepLog::start() {
  const std::lock_guard lock(mutex_);
  runs_ = true;
  started_ns_ = sums_ns_ = monotonic_ns();
  if (schedule_.keeps_slow) {
    recorder_.hold_rows();
    KeptSpans::instance().start();
  }
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
  take(steps_.finish(), monotonic_ns());
  if (schedule_.keeps_slow) {
    recorder_.decide(Fate::apart);
    write_sums(monotonic_ns(), sums_.take());
  }
  rows_.write(recorder_);
  rows_ = {};
  line_.print(std::exchange(text_, {}));
  is_watching = is_in_window = true;
  turn_ = nullptr;
  spent_ns_ = nullptr;
  over_ = nullptr;
}

void StepLog::see(const LoopMoment& moment) {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  try {
    take(steps_.see(moment), moment.time_ns);
  } catch (const std::bad_alloc&) {  // the step has no row; the program goes on
  }
  follow_schedule(moment.time_ns);
}

void StepLog::set_switch(void (*turn)(bool on), int64_t (*spent_ns)()) {
  const std::lock_guard lock(mutex_);
  turn_ = turn;
  spent_ns_ = spent_ns;
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
  follow_windows();
  const bool is_asked_for = !is_over_ && schedule_.records(steps_.number());
  if (is_asked_for && first_on_ns_ < 0)
    first_on_ns_ = time_ns;
  is_watching = is_asked_for;  // samples cost little, and show lines of all steps
  follow_budget(time_ns);
  is_only_timed_ = is_asked_for && !is_within_budget_;
  const bool wanted = is_asked_for && is_within_budget_;
  if (wanted == is_on_)
    return;
  is_on_ = wanted;
  if (turn_ != nullptr)
    turn_(wanted);
}

// Where a step begins.
void StepLog::follow_budget(int64_t time_ns) {
  if (!budget_.is_limited() || spent_ns_ == nullptr || steps_.number() == budgeted_)
    return;
  budgeted_ = steps_.number();
  const int64_t begun_ns = std::exchange(budgeted_ns_, time_ns);
  longest_ns_ = begun_ns == 0 ? 0 : std::max(longest_ns_, time_ns - begun_ns);
  is_late_ = false;
  if (budget_.is_due(time_ns))
    is_within_budget_ =
        budget_.choose({time_ns, process_cpu_ns(), spent_ns_(), recorder_.writer_cpu_ns()});
}

// What follows a loop whose last step was only timed is recorded. How long it is left out is not
// known before, so it is as long as some steps.
void StepLog::go_on_behind_loop(int64_t now_ns) {
  if (!is_only_timed_ || is_late_ || now_ns - budgeted_ns_ < std::max(kSecondNs, 4 * longest_ns_))
    return;
  is_late_ = is_within_budget_ = is_on_ = true;
  is_only_timed_ = false;
  if (turn_ != nullptr)
    turn_(true);
}

// Called before operators are recorded and after: their work on a GPU belongs to the window.
void StepLog::follow_windows() {
  const bool is_within = !is_over_ && schedule_.is_within(steps_.number());
  if (is_in_window.exchange(is_within) == is_within)
    return;
  if (void (*changed)() = window_changed; changed != nullptr)
    changed();
}

void StepLog::take(const std::vector<LiveStep>& ended, int64_t now_ns) {
  for (LiveStep step : ended) {
    if (thread_ == kNone || os_thread_ != steps_.os_thread()) {
      os_thread_ = steps_.os_thread();
      thread_ = thread_rows_.add(os_thread_, [this] { return thread_name(os_thread_); });
    }
    step.thread = thread_;
    step.is_recorded = is_on_ && !is_late_;
    const bool is_left_out = !step.is_evaluation && schedule_.is_baseline(step.number);
    step.is_baseline = !step.is_recorded && (is_left_out || is_only_timed_ || is_late_);
    measure(step, now_ns);
    if (schedule_.keeps_slow)
      choose(step);
    baseline_ += step.is_baseline && is_left_out ? 1 : 0;
    timed_ += step.is_baseline && !is_left_out && !step.is_evaluation ? 1 : 0;
    recorded_ += step.is_recorded && !step.is_evaluation ? 1 : 0;
    is_mixed_ = is_mixed_ && step.is_evaluation;
    list(step);
    line_.add(step);
    if (every_ == 0 || step.is_evaluation || line_.steps() < every_)
      continue;
    text_ += line_.take(step.number);
    recorder_.set_alarm(monotonic_ns(), &StepLog::ring_line, this);
  }
}

// The end of an evaluation, and of some steps without a loader, becomes known only with the end of
// the step after it. What the thread used in the two cannot be told apart, so it is given to
// neither.
void StepLog::measure(LiveStep& step, int64_t now_ns) {
  is_mixed_ = is_mixed_ || step.is_evaluation;
  if (step.is_evaluation)
    return;
  const bool is_needed = schedule_.keeps_slow || schedule_.baseline > 0;
  const bool is_short = step.end_ns - step.start_ns < kShortNs && !is_needed;
  if (step.end_ns == now_ns)
    usage_.read_memory(step);
  if (step.end_ns != now_ns || is_short) {
    is_unread_ = true;
    return;
  }
  usage_.read(step);
  if (std::exchange(is_unread_, false) || is_mixed_)
    step.cpu_ns = step.waited_ns = step.collected_ns = -1;
}

// Decides the fate of the rows of a step that has ended, and of an evaluation before it.
void StepLog::choose(LiveStep& step) {
  if (step.is_evaluation) {
    step.is_recorded = false;
    KeptSpans::instance().add({step.start_ns, step.end_ns, Fate::apart});
    return;
  }
  const bool is_mixed = is_mixed_;
  const int64_t time_ns = step.end_ns - step.start_ns;
  step.is_slow = !step.is_baseline && time_ns > 0 && slow_.is_slow(time_ns);
  Fate fate = step.is_baseline ? Fate::apart : Fate::ordinary;
  if (step.is_slow)
    fate = recorder_.may_keep() ? Fate::slow : Fate::unkept;
  step.is_recorded = fate == Fate::slow;
  const bool is_cut = recorder_.decide(is_mixed && fate == Fate::ordinary ? Fate::apart : fate);
  step.is_partial = is_cut && step.is_recorded;
  unkept_ += fate == Fate::unkept ? 1 : 0;
  partial_ += step.is_partial ? 1 : 0;
  KeptSpans::instance().add({step.start_ns, step.end_ns, fate});
  if (fate != Fate::apart)
    sums_.add(step);
}

// A day of short steps is too many for a row each. Their sums are written too.
void StepLog::list(const LiveStep& step) {
  constexpr int64_t kMostListed = 100'000;
  if (schedule_.keeps_slow && listed_ >= kMostListed && !step.is_slow) {
    ++unlisted_;
    return;
  }
  ++listed_;
  rows_.add(step);
}

// Every second at first, less often the longer the program runs, and at least every minute.
bool StepLog::are_sums_due(int64_t now_ns) const {
  const int64_t pause_ns =
      std::clamp<int64_t>((now_ns - started_ns_) / 100, kSecondNs, 60 * kSecondNs);
  return schedule_.keeps_slow && now_ns - sums_ns_ >= pause_ns;
}

// Writes sums of operators only while they are few enough for a day of them to stay small. The
// recorder writes the last ones when it closes.
void StepLog::write_sums(int64_t now_ns, const StepSum& sum) {
  constexpr int64_t kBytes = int64_t{4} << 20;
  constexpr int64_t kBytesEachSecond = 250;
  if (sum.steps > 0) {
    RowTable<StepSum> rows;
    rows.add(sum);
    rows.write(recorder_);
  }
  if (recorder_.sums_bytes() > kBytes + (now_ns - started_ns_) / kSecondNs * kBytesEachSecond)
    return;
  recorder_.write_sums(now_ns);
  KeptSpans::instance().ask_for_sums();
}

void StepLog::ring(void* self) {
  static_cast<StepLog*>(self)->beat();
}

void StepLog::beat() {
  RowTable<LiveStep> rows;
  StepSum sum{};
  const int64_t now_ns = monotonic_ns();
  bool are_due = false;
  {
    const std::lock_guard lock(mutex_);
    if (!runs_)
      return;
    go_on_behind_loop(now_ns);
    std::swap(rows, rows_);
    are_due = are_sums_due(now_ns);
    if (are_due) {
      sums_ns_ = now_ns;
      sum = sums_.take();
    }
    recorder_.set_heartbeat_alarm(&StepLog::ring, this);
  }
  try {
    rows.write(recorder_);
    if (are_due)
      write_sums(now_ns, sum);
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
