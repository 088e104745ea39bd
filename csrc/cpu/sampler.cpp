#include "cpu/sampler.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/thread_clock.h"

#ifdef PERFPROBE_FOREIGN_FRAMES

namespace perfprobe {
namespace {

constexpr int kTries = 8;
constexpr int kTriesWithoutGaps = 3;
constexpr int64_t kWriteNs = 500'000'000;
constexpr int64_t kLongestOpenNs = 5'000'000'000;  // of a thread that stands still
// A day's recording must still be readable: the interval doubles after as many rows, and again
// after each further half of them.
constexpr int64_t kRowsToDoubling = 524'288;
constexpr int64_t kMostGrowth = 64;
// Resting: from when on, how long (a part of the time that nothing has run, so that the middle of a
// wait is a fair guess), the CPU time that calls it back, and how much of it a thread may have used
// that is found where it was.
constexpr int64_t kStillNs = 80'000'000;
constexpr int64_t kStillToRest = 4;
constexpr int64_t kMostRestNs = 500'000'000;
constexpr int64_t kCallNs = 500'000;
constexpr int64_t kUnseenNs = 2'500'000;

// CPU time of a tick as last measured in this process, or in the one it was forked from; 0: not yet.
// A child that lives for a second has ended before it could measure its own.
std::atomic<int64_t> tick_cpu_ns{0};

// The shortest interval, from `interval_ns` on, at which ticks keep to this part of a processor.
int64_t affordable_ns(int64_t interval_ns, double most_cost) {
  const auto cpu_ns = static_cast<double>(tick_cpu_ns.load());
  int64_t growth = 1;
  while (growth < kMostGrowth && cpu_ns > most_cost * static_cast<double>(growth * interval_ns))
    growth *= 2;
  return growth * interval_ns;
}

// When a thread that was seen elsewhere before came to where it is seen now. One that runs has done
// so for as long as its clock says. One that waits may have come there at any time in between: the
// middle is as often too early as too late. Half an interval earlier than that, as what is found by
// a look has the time since the look before: what ends while looks are frequent loses as much.
int64_t turned_ns(int64_t since_ns, int64_t now_ns, int64_t ran_ns, bool is_running,
                  int64_t interval_ns) {
  const int64_t latest_ns = now_ns - ran_ns;
  const int64_t middle_ns = std::min(since_ns + (now_ns - since_ns) / 2, latest_ns);
  return std::max((is_running ? latest_ns : middle_ns) - interval_ns / 2, since_ns);
}

}  // namespace

Sampler::Sampler(Recorder& recorder, int64_t interval_ns, double most_cost)
    : recorder_(recorder),
      random_(static_cast<uint32_t>(monotonic_ns())),
      most_cost_(most_cost),
      interval_ns_(affordable_ns(interval_ns, most_cost)),
      least_interval_ns_(interval_ns),
      rows_to_doubling_(kRowsToDoubling),
      cost_(static_cast<double>(tick_cpu_ns.load()) / static_cast<double>(interval_ns_)) {
  figures_.interval_ns = interval_ns;
  main_interpreter();
}

void Sampler::start() {
  tick_ns_ = written_ns_ = due_ns_ = still_since_ns_ = figures_.started_ns = monotonic_ns();
  plan_next();
  const int64_t main_thread = ::getpid();
  const int64_t cpu_ns = thread_cpu_time_ns(main_thread);
  SampledThread& main = threads_.find(main_thread, cpu_ns);
  main.cpu_ns = cpu_ns;
  main.sample.end_ns = tick_ns_;
  const int error = thread_.start();
  if (error != 0)
    throw std::system_error(error, std::generic_category(), "cannot start the sampler's thread");
  recorder_.join_forks(thread_);
}

void Sampler::stop() {
  recorder_.leave_forks(thread_);
  if (!thread_.end())
    return;
  if (!is_broken_)
    tick();  // up to now
  threads_.close_old(static_cast<uint64_t>(figures_.ticks) + 1, 0);
  rows_.write();
  figures_.stopped_ns = tick_ns_;
}

SamplerFigures Sampler::figures() const {
  SamplerFigures figures = figures_;
  figures.last_interval_ns = interval_ns_;
  figures.other_stacks = stacks_.others();
  return figures;
}

// An error here must not end the program: the sampling ends, and `figures` says so.
void Sampler::run() try {
  const int64_t before_ns = figures_.cpu_ns;
  wait_.begin();
  for (wait(); !thread_.leaving(); wait()) {
    const int64_t late_ns = monotonic_ns() - due_ns_;
    if (late_ns > interval_ns_ / 2) {
      ++figures_.late_ticks;
      figures_.late_ns += late_ns;
    }
    tick();
    plan_next();
    // Not later than at the tick after this one, also when that is far away.
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

// Until the next tick, or until there is something to be seen again.
void Sampler::wait() {
  is_called_ = false;
  while (!thread_.leaving() && !is_called_) {
    if (wait_.wait_until(due_ns_))
      return;
    is_called_ = rests_ && !thread_.leaving();
  }
  due_ns_ = monotonic_ns();
}

// Uniform from half to three halves of the interval, so that no loop of the program keeps step.
void Sampler::plan_next() {
  int64_t mean_ns = interval_ns_;
  if (rest())
    mean_ns = std::max(mean_ns, std::min((tick_ns_ - still_since_ns_) / kStillToRest, kMostRestNs));
  std::uniform_int_distribution<int64_t> jitter(mean_ns / 2, mean_ns * 3 / 2);
  due_ns_ = std::max(due_ns_ + jitter(random_), monotonic_ns() + interval_ns_ / 4);
}

// Whether the next wait may be a long one. Only where the end of it is sure to be noticed.
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

// Of all threads but ours that are always there: their work alone is no end of a rest.
int64_t Sampler::program_cpu_ns() const {
  return process_cpu_ns() - thread_cpu_ns() - recorder_.writer_cpu_ns();
}

// New threads come first in the list; that one went is seen when it is looked at.
bool Sampler::know_threads() {
  if (is_list_stale_ || seen_.empty() || seen_.front().address != newest_thread())
    is_list_stale_ = !read_threads(memory_, seen_);
  return !is_list_stale_;
}

void Sampler::tick() {
  const int64_t previous_ns = tick_ns_;
  if (!know_threads()) {
    ++figures_.failed_ticks;
    has_moved_ = true;
    return;
  }
  ++figures_.ticks;
  tick_ns_ = monotonic_ns();
  // The oldest state first: a new thread's carries its parent's number until it runs.
  for (size_t i = seen_.size(); i-- > 0;)
    look_at(seen_[i], previous_ns);
}

void Sampler::look_at(SeenThread& seen, int64_t previous_tick_ns) {
  const auto tick = static_cast<uint64_t>(figures_.ticks);
  const auto number = static_cast<int64_t>(seen.state.native_thread_id);
  const int64_t cpu_ns = number > 0 ? thread_cpu_time_ns(number) : -1;
  if (cpu_ns < 0 || recorder_.is_writer(number)) {  // not running yet, or no more; or our own
    is_list_stale_ = true;
    return;
  }
  SampledThread& thread = threads_.find(number, cpu_ns);
  if (thread.tick == tick) {
    is_list_stale_ = true;  // it has its own number by the next tick
    return;
  }
  const int64_t now_ns = monotonic_ns();
  // Else it is new, or had no Python state at times.
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
  const bool is_divided = rests_ && has_run;
  move_on(
      thread, found, since_ns,
      is_divided ? turned_ns(since_ns, now_ns, ran_ns, found.is_running, interval_ns_) : since_ns);
  thread.sample.cpu_ns = is_followed ? ran_ns : -1;
  thread.state = before.id;
  thread.cpu_ns = cpu_ns;
  is_list_stale_ |= before.prev != seen.state.prev || before.next != seen.state.next;
}

// It has run a little and is back, or goes on: what it ran is kept, to count where it is found next
// time. Else only the long waits themselves would be seen of a program that works for less than
// what goes unseen.
bool Sampler::is_there_still(const SampledThread& thread, const Found& found,
                             int64_t ran_ns) const {
  return rests_ && thread.is_open && found.look != Look::failed &&
         found.look == thread.sample.look && found.stack == thread.sample.stack &&
         ran_ns < kUnseenNs;
}

// It counts as often as it would have been looked at: it cannot have been elsewhere.
void Sampler::stay(SampledThread& thread, int64_t now_ns) {
  if (!thread.is_open) {  // it was written down because it was so long
    thread.sample.start_ns = thread.sample.end_ns;
    thread.sample.cpu_ns = 0;
    thread.sample.looks = 0;
    thread.is_open = true;
  }
  const int64_t looks = rests_ ? (now_ns - thread.sample.end_ns) / interval_ns_ : 1;
  thread.sample.looks += static_cast<int32_t>(std::max<int64_t>(looks, 1));
  thread.sample.end_ns = now_ns;
}

// The time since the last look is that of the place where the thread is found: so every place gets
// its share, as long as looks come at times of their own. After a rest they do not, and the time is
// divided at `start_ns`: until then a row without a look goes on where the thread was before.
void Sampler::move_on(SampledThread& thread, const Found& found, int64_t since_ns,
                      int64_t start_ns) {
  threads_.close(thread);
  SampleRow& sample = thread.sample;
  if (start_ns > since_ns && sample.end_ns == since_ns) {
    sample.start_ns = since_ns;
    sample.end_ns = start_ns;
    sample.cpu_ns = 0;
    sample.looks = 0;
    rows_.add(sample);
  }
  sample.start_ns = start_ns;
  sample.end_ns = found.time_ns;
  sample.thread = thread.row;
  sample.looks = 1;
  sample.look = found.look;
  sample.stack = found.stack;
  thread.is_open = true;
}

// A copy that fits together is taken as it is, however the thread moved on meanwhile: to insist on
// one during which it stood still would favour slow functions.
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
  while (rows_.written() >= rows_to_doubling_) {
    rows_to_doubling_ += kRowsToDoubling / 2;
    least_interval_ns_ *= 2;
  }
  const int64_t cpu_ns = figures_.cpu_ns - written_cpu_ns_;
  const int64_t ticks = figures_.ticks - written_ticks_;
  if (ticks > 0)
    tick_cpu_ns = cpu_ns / ticks;
  keep_to_cost(cpu_ns, tick_ns_ - written_ns_);
  written_cpu_ns_ = figures_.cpu_ns;
  written_ticks_ = figures_.ticks;
  written_ns_ = tick_ns_;
}

// Many threads, or a slow machine: looks become rarer until their cost is what it may be.
void Sampler::keep_to_cost(int64_t cpu_ns, int64_t wall_ns) {
  cost_ += (static_cast<double>(cpu_ns) / static_cast<double>(wall_ns) - cost_) / 4;
  const int64_t before_ns = interval_ns_;
  if (cost_ > most_cost_)
    interval_ns_ *= 2;
  else if (cost_ < most_cost_ / 4)
    interval_ns_ /= 2;
  interval_ns_ = std::clamp(interval_ns_, least_interval_ns_, kMostGrowth * least_interval_ns_);
  cost_ *= static_cast<double>(before_ns) / static_cast<double>(interval_ns_);
}

}  // namespace perfprobe

#endif
