#include "cpu/sampler.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/thread_clock.h"
#include "core/watching.h"

#ifdef PERFPROBE_FOREIGN_FRAMES

namespace perfprobe {
namespace {

constexpr int kTries = 8;
constexpr int kTriesWithoutGaps = 3;
constexpr int64_t kWriteNs = 500'000'000;
constexpr int64_t kLongestOpenNs = 5'000'000'000;  // longest open sample of an idle thread
// A recording of a day must still be readable: the interval doubles after this many rows, and again
// after each further half of that number.
constexpr int64_t kRowsToDoubling = 524'288;
constexpr int64_t kMostGrowth = 64;
// Part of the allowed cost that the interval is chosen for, so that a dearer tick does not exceed
// it.
constexpr double kAim = 0.8;
// Resting: no thread has run for kStillNs. The pause between looks then grows to this time divided
// by kStillToRest, so that the middle of a wait is a fair guess, and at most to kMostRestNs. The
// kernel wakes the sampler after kCallNs of CPU time. A thread that used less than kUnseenNs and
// has the same stack counts as having stayed there.
constexpr int64_t kStillNs = 80'000'000;
constexpr int64_t kStillToRest = 4;
constexpr int64_t kMostRestNs = 500'000'000;
constexpr int64_t kCallNs = 500'000;
constexpr int64_t kUnseenNs = 2'500'000;
// A process that uses less CPU time than this part is sampled as if it used as much.
constexpr int64_t kLeastBusy = 8;
// A paused sampler asks after its first few ticks only this often whether it may go on.
constexpr int64_t kSkipNs = 20'000'000;
constexpr int64_t kFewSkips = 8;

// CPU time of a tick as last measured in this process or inherited by a fork; 0 if not measured
// yet. A child that lives for a second ends before it could measure its own.
std::atomic<int64_t> tick_cpu_ns{0};

// Returns the shortest interval, at least `interval_ns`, at which ticks use at most this part of a
// processor.
int64_t affordable_ns(int64_t interval_ns, double most_cost) {
  const auto needed_ns = static_cast<int64_t>(static_cast<double>(tick_cpu_ns.load()) / most_cost);
  return std::clamp(needed_ns, interval_ns, kMostGrowth * interval_ns);
}

// Returns when a thread came to the place where it is seen now, if it was elsewhere before. A
// running thread came there when its CPU time says. A waiting thread may have come at any time in
// between: the middle is too early as often as too late. Half an interval is subtracted, because a
// look counts the time since the look before; places seen last while looks are frequent lose as
// much.
int64_t turned_ns(int64_t since_ns, int64_t now_ns, int64_t ran_ns, bool is_running,
                  int64_t interval_ns) {
  const int64_t latest_ns = now_ns - ran_ns;
  const int64_t middle_ns = std::min(since_ns + (now_ns - since_ns) / 2, latest_ns);
  return std::max((is_running ? latest_ns : middle_ns) - interval_ns / 2, since_ns);
}

}  // namespace

Sampler::Sampler(Recorder& recorder, int64_t interval_ns, double most_cost, bool of_cpu_time)
    : recorder_(recorder),
      random_(static_cast<uint32_t>(monotonic_ns())),
      most_cost_(most_cost),
      of_cpu_time_(of_cpu_time),
      interval_ns_(affordable_ns(interval_ns, most_cost)),
      least_interval_ns_(interval_ns),
      rows_to_doubling_(kRowsToDoubling),
      cost_(static_cast<double>(tick_cpu_ns.load()) / static_cast<double>(interval_ns_)) {
  figures_.interval_ns = interval_ns;
  main_interpreter();
}

void Sampler::start() {
  tick_ns_ = written_ns_ = due_ns_ = still_since_ns_ = figures_.started_ns = monotonic_ns();
  used_cpu_ns_ = process_cpu_ns();
  plan_next();
  const int64_t main_thread = ::getpid();
  const int64_t cpu_ns = thread_cpu_time_ns(main_thread);
  SampledThread& main = threads_.find(main_thread, cpu_ns);
  main.cpu_ns = cpu_ns;
  main.sample.end_ns = tick_ns_;
  const int error = thread_.start();
  if (error != 0)
    throw ThreadRefused("the sampler's thread", error);
  recorder_.join_forks(thread_);
}

void Sampler::stop() {
  recorder_.leave_forks(thread_);
  if (!thread_.end())
    return;
  if (!is_broken_)
    tick();  // write up to now
  threads_.close_old(static_cast<uint64_t>(figures_.ticks) + 1, 0);
  rows_.write(/*is_last=*/true);
  activity_.write();
  figures_.stopped_ns = tick_ns_;
}

SamplerFigures Sampler::figures() const {
  SamplerFigures figures = figures_;
  figures.last_interval_ns = interval_ns_;
  figures.other_stacks = stacks_.others();
  figures.unread_threads = activity_.unread();
  figures.is_lock_known = lock_.is_known();
  return figures;
}

// An error ends the sampling, not the program, and `figures` says so.
void Sampler::run() try {
  const int64_t before_ns = figures_.cpu_ns;
  wait_.begin();
  for (wait(); !thread_.leaving(); wait()) {
    if (const int64_t late_ns = monotonic_ns() - due_ns_; late_ns > interval_ns_ / 2) {
      ++figures_.late_ticks;
      figures_.late_ns += late_ns;
    }
    tick();
    plan_next();
    // Write by the tick after this one at the latest, even if that is far away.
    if (due_ns_ - written_ns_ >= kWriteNs + kWriteNs / 2 || tick_ns_ - written_ns_ >= kWriteNs) {
      figures_.cpu_ns = before_ns + thread_cpu_ns();
      write();
    }
  }
  figures_.cpu_ns = before_ns + thread_cpu_ns();
  wait_.end();
} catch (const std::exception&) {
  wait_.end();
  is_broken_ = true;
}

// Waits until the next tick, or until the kernel wakes a resting sampler.
void Sampler::wait() {
  is_called_ = false;
  while (!thread_.leaving() && !is_called_) {
    if (wait_.wait_until(due_ns_))
      return;
    is_called_ = rests_ && !thread_.leaving();
  }
  due_ns_ = monotonic_ns();
}

// Uniform between half and three halves of the interval, so that no loop of the program runs in
// step with it.
void Sampler::plan_next() {
  int64_t mean_ns = skips_ > kFewSkips ? std::max(interval_ns_, kSkipNs) : interval_ns_;
  if (rest())
    mean_ns = std::max(mean_ns, std::min((tick_ns_ - still_since_ns_) / kStillToRest, kMostRestNs));
  std::uniform_int_distribution<int64_t> jitter(mean_ns / 2, mean_ns * 3 / 2);
  due_ns_ = std::max(due_ns_ + jitter(random_), monotonic_ns() + interval_ns_ / 4);
}

// Whether the next wait may be long. Only if the kernel is sure to wake the sampler.
bool Sampler::rest() {
  const bool is_at_work = is_called_ && program_cpu_ns() - watched_ns_ >= kCallNs / 2;
  if (std::exchange(has_moved_, false) || is_at_work)
    still_since_ns_ = tick_ns_;
  const bool was_resting = std::exchange(rests_, tick_ns_ - still_since_ns_ >= kStillNs);
  if (rests_ && (!was_resting || is_called_)) {
    watched_ns_ = program_cpu_ns();
    rests_ = wait_.watch(kCallNs);
  } else if (was_resting && !rests_) {
    wait_.unwatch();
  }
  return rests_;
}

// CPU time of all threads except the sampler and the writer, whose work alone does not end a rest.
int64_t Sampler::program_cpu_ns() const {
  return process_cpu_ns() - thread_cpu_ns() - recorder_.writer_cpu_ns();
}

// A new thread is the first of the list. That a thread has ended is noticed when it is looked at.
bool Sampler::know_threads() {
  if (is_list_stale_ || seen_.empty() || seen_.front().address != newest_thread())
    is_list_stale_ = !read_threads(memory_, seen_);
  return !is_list_stale_;
}

// Samples end with the latest look, and the next ones begin here: the time between is not sampled.
void Sampler::skip_tick() {
  ++figures_.ticks;
  ++skips_;
  tick_ns_ = still_since_ns_ = monotonic_ns();
  threads_.close_old(static_cast<uint64_t>(figures_.ticks), 0);
}

void Sampler::tick() {
  if (!is_watching) {
    skip_tick();
    return;
  }
  skips_ = 0;
  const int64_t previous_ns = tick_ns_;
  if (!know_threads()) {
    ++figures_.failed_ticks;
    has_moved_ = true;
    return;
  }
  ++figures_.ticks;
  tick_ns_ = monotonic_ns();
  // Oldest states first: until a new thread runs, its state has its parent's number.
  for (size_t i = seen_.size(); i-- > 0;)
    look_at(seen_[i], previous_ns);
  callers_.clear();
  for (const SeenThread& seen : seen_)
    callers_.push_back(static_cast<int64_t>(seen.state.native_thread_id));
  activity_.read(callers_);
}

void Sampler::look_at(SeenThread& seen, int64_t previous_tick_ns) {
  const auto tick = static_cast<uint64_t>(figures_.ticks);
  const auto number = static_cast<int64_t>(seen.state.native_thread_id);
  const int64_t cpu_ns = number > 0 ? thread_cpu_time_ns(number) : -1;
  if (cpu_ns < 0 || recorder_.is_writer(number)) {  // not running yet, ended, or the writer
    is_list_stale_ = true;
    return;
  }
  SampledThread& thread = threads_.find(number, cpu_ns);
  if (thread.tick == tick) {
    is_list_stale_ = true;  // it will have its own number at the next tick
    return;
  }
  const int64_t now_ns = monotonic_ns();
  // Otherwise it is new, or had no Python state for a while.
  const bool is_followed = thread.tick + 1 == tick && thread.sample.end_ns > 0;
  const bool is_same = is_followed && thread.state == seen.state.id;
  const bool has_run = !is_same || thread.cpu_ns != cpu_ns;
  ++figures_.looks;
  thread.tick = tick;
  if (!has_run && thread.sample.look != Look::failed) {
    stay(thread, now_ns);
    return;
  }
  const PyThreadState before = seen.state;
  Found found = read_stack(seen, thread);
  found.time_ns = now_ns;
  const int64_t ran_ns = is_followed ? cpu_ns - thread.cpu_ns : cpu_ns;
  found.is_running =
      rests_ && (is_called_ ? ran_ns >= kCallNs / 2 : thread_cpu_time_ns(number) > cpu_ns);
  if (is_same && is_there_still(thread, found, ran_ns)) {
    stay(thread, now_ns);
    return;
  }
  has_moved_ |= has_run;
  const int64_t since_ns = is_followed ? thread.sample.end_ns : previous_tick_ns;
  thread.waits_for = lock_.of(number, ran_ns, now_ns - since_ns);
  int64_t start_ns = since_ns;
  if (rests_ && has_run)
    start_ns = turned_ns(since_ns, now_ns, ran_ns, found.is_running, interval_ns_);
  const int64_t room_ns = is_followed ? std::max<int64_t>(now_ns - start_ns - ran_ns, 0) : -1;
  const int64_t waited_ns = threads_.waited_ns(thread, number, room_ns);
  move_on(thread, found, since_ns, start_ns);
  thread.sample.cpu_ns = is_followed ? ran_ns : -1;
  thread.sample.clock_ns = cpu_ns;
  thread.sample.wait_ns = waited_ns;
  thread.state = before.id;
  thread.cpu_ns = cpu_ns;
  is_list_stale_ |= before.prev != seen.state.prev || before.next != seen.state.next;
}

// The thread ran a little and is back in the same place, or is still there. The CPU time it used is
// kept and counted at the next place. Without this, a program that works for less than kUnseenNs at
// a time would seem to do nothing but long waits.
bool Sampler::is_there_still(const SampledThread& thread, const Found& found,
                             int64_t ran_ns) const {
  return rests_ && thread.is_open && found.look != Look::failed &&
         found.look == thread.sample.look && found.stack == thread.sample.stack &&
         ran_ns < kUnseenNs;
}

// Counts as many looks as without resting: the thread cannot have been elsewhere.
void Sampler::stay(SampledThread& thread, int64_t now_ns) {
  if (!thread.is_open) {  // a long sample was written already
    thread.sample.start_ns = thread.sample.end_ns;
    thread.sample.cpu_ns = 0;
    thread.sample.wait_ns = std::min<int64_t>(thread.sample.wait_ns, 0);
    thread.sample.looks = 0;
    thread.sample.lock_looks = std::min(thread.sample.lock_looks, 0);
    thread.is_open = true;
  }
  const int64_t passed = rests_ ? (now_ns - thread.sample.end_ns) / interval_ns_ : 1;
  const auto looks = static_cast<int32_t>(std::max<int64_t>(passed, 1));
  thread.sample.looks += looks;
  thread.sample.lock_looks += thread.waits_for == WaitsFor::lock ? looks : 0;
  thread.sample.end_ns = now_ns;
}

// The time since the last look counts for the place where the thread is found. Every place then
// gets its share, because looks come at times independent of the program. After a rest they do not,
// and the time is divided at `start_ns`: before it, a row without a look continues the previous
// place.
void Sampler::move_on(SampledThread& thread, const Found& found, int64_t since_ns,
                      int64_t start_ns) {
  threads_.close(thread);
  SampleRow& sample = thread.sample;
  if (start_ns > since_ns && sample.end_ns == since_ns) {
    sample.start_ns = since_ns;
    sample.end_ns = start_ns;
    sample.cpu_ns = 0;
    sample.wait_ns = std::min<int64_t>(sample.wait_ns, 0);
    sample.looks = 0;
    sample.lock_looks = lock_.is_known() ? 0 : -1;
    rows_.add(sample);
  }
  sample.start_ns = start_ns;
  sample.end_ns = found.time_ns;
  sample.thread = thread.row;
  sample.looks = 1;
  sample.lock_looks =
      lock_.is_known() ? static_cast<int32_t>(thread.waits_for == WaitsFor::lock) : -1;
  sample.waits_for = thread.waits_for;
  sample.look = found.look;
  sample.stack = found.stack;
  thread.is_open = true;
}

// A consistent copy is used even if the thread moved on: not to would favour slow functions.
Sampler::Found Sampler::read_stack(SeenThread& seen, SampledThread& thread) {
  Found found{0, Look::failed, kNone, false};
  for (int i = 0; i < kTries; ++i) {
    figures_.retries += i > 0 ? 1 : 0;
    if (!frames_.read(seen))
      continue;
    if (frames_.frames().empty()) {
      found.look = Look::no_python;
      return found;
    }
    const bool with_gaps = i >= kTriesWithoutGaps;
    if (!stacks_.name(frames_.frames(), thread.last, found.stack, with_gaps))
      continue;
    figures_.cut_stacks += frames_.was_cut() ? 1 : 0;
    found.look = Look::read;
    return found;
  }
  ++figures_.failed_looks;
  return found;
}

void Sampler::write() {
  is_list_stale_ = true;  // to be sure
  threads_.close_old(static_cast<uint64_t>(figures_.ticks), tick_ns_ - kLongestOpenNs);
  rows_.write();
  activity_.write();
  while (rows_.written() >= rows_to_doubling_) {
    rows_to_doubling_ += kRowsToDoubling / 2;
    least_interval_ns_ *= 2;
  }
  const int64_t cpu_ns = figures_.cpu_ns - written_cpu_ns_;
  const int64_t ticks = figures_.ticks - written_ticks_;
  if (ticks > 0)
    tick_cpu_ns = cpu_ns / ticks;
  keep_to_cost(cpu_ns, limiting_ns());
  written_cpu_ns_ = figures_.cpu_ns;
  written_ticks_ = figures_.ticks;
  written_ns_ = tick_ns_;
}

// Returns the time since rows were last written that limits the sampler's own: wall or CPU time.
int64_t Sampler::limiting_ns() {
  const int64_t wall_ns = tick_ns_ - written_ns_;
  if (!of_cpu_time_)
    return wall_ns;
  const int64_t used_ns = process_cpu_ns();
  const int64_t since_ns = used_ns - std::exchange(used_cpu_ns_, used_ns);
  return std::max(since_ns, wall_ns / kLeastBusy);
}

// With many threads or on a slow machine, looks become rarer until they cost no more than allowed.
void Sampler::keep_to_cost(int64_t cpu_ns, int64_t limiting_ns) {
  cost_ += (static_cast<double>(cpu_ns) / static_cast<double>(limiting_ns) - cost_) / 4;
  const double wanted = kAim * most_cost_;
  if (cost_ <= most_cost_ && cost_ >= wanted / 2)
    return;
  const auto before_ns = static_cast<double>(interval_ns_);
  interval_ns_ = std::clamp(static_cast<int64_t>(before_ns * cost_ / wanted), least_interval_ns_,
                            kMostGrowth * least_interval_ns_);
  cost_ *= before_ns / static_cast<double>(interval_ns_);
}

}  // namespace perfprobe

#endif
