#include "cpu/sampler.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "core/clock.h"

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

}  // namespace

Sampler::Sampler(Recorder& recorder, int64_t interval_ns, double most_cost)
    : recorder_(recorder),
      random_(static_cast<uint32_t>(monotonic_ns())),
      most_cost_(most_cost),
      interval_ns_(interval_ns),
      least_interval_ns_(interval_ns),
      rows_to_doubling_(kRowsToDoubling) {
  figures_.interval_ns = interval_ns;
  main_interpreter();
}

void Sampler::start() {
  tick_ns_ = written_ns_ = due_ns_ = figures_.started_ns = monotonic_ns();
  plan_next();
  const int64_t main_thread = ::getpid();
  const int64_t cpu_ns = cpu_time_ns(main_thread);
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
  while (wait_until_due()) {
    const int64_t late_ns = monotonic_ns() - due_ns_;
    if (late_ns > interval_ns_ / 2) {
      ++figures_.late_ticks;
      figures_.late_ns += late_ns;
    }
    tick();
    if (tick_ns_ - written_ns_ >= kWriteNs) {
      figures_.cpu_ns = before_ns + thread_cpu_ns();
      write();
    }
    plan_next();
  }
  figures_.cpu_ns = before_ns + thread_cpu_ns();
} catch (const std::exception&) {
  is_broken_ = true;
}

bool Sampler::wait_until_due() {
  std::unique_lock lock(wake_mutex_);
  const std::chrono::steady_clock::time_point due{std::chrono::nanoseconds(due_ns_)};
  return !wake_.wait_until(lock, due, [this] { return thread_.leaving(); });
}

// Uniform from half to three halves of the interval, so that no loop of the program keeps step.
void Sampler::plan_next() {
  std::uniform_int_distribution<int64_t> jitter(interval_ns_ / 2, interval_ns_ * 3 / 2);
  due_ns_ = std::max(due_ns_ + jitter(random_), monotonic_ns() + interval_ns_ / 4);
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
  const int64_t cpu_ns = number > 0 ? cpu_time_ns(number) : -1;
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
  const bool stood_still = is_followed && thread.is_open && thread.state == seen.state.id &&
                           thread.cpu_ns == cpu_ns && thread.sample.look != Look::failed;
  ++figures_.looks;
  thread.tick = tick;
  if (stood_still) {
    thread.sample.end_ns = now_ns;
    ++thread.sample.looks;
    return;
  }
  const PyThreadState before = seen.state;
  threads_.close(thread);
  SampleRow& sample = thread.sample;
  sample.start_ns = is_followed ? sample.end_ns : previous_tick_ns;
  sample.end_ns = now_ns;
  sample.cpu_ns = is_followed ? cpu_ns - thread.cpu_ns : -1;
  sample.thread = thread.row;
  sample.looks = 1;
  sample.look = read_stack(seen, thread);
  thread.is_open = true;
  thread.state = before.id;
  thread.cpu_ns = cpu_ns;
  is_list_stale_ |= before.prev != seen.state.prev || before.next != seen.state.next;
}

// A copy that fits together is taken as it is, however the thread moved on meanwhile: to insist on
// one during which it stood still would favour slow functions.
Look Sampler::read_stack(SeenThread& seen, SampledThread& thread) {
  thread.sample.stack = kNone;
  for (int i = 0; i < kTries; ++i) {
    figures_.retries += i > 0 ? 1 : 0;
    if (!frames_.read(seen))
      continue;
    if (frames_.frames().empty())
      return Look::no_python;
    const bool with_gaps = i >= kTriesWithoutGaps;
    if (!stacks_.name(frames_.frames(), thread.last, thread.sample.stack, with_gaps))
      continue;
    figures_.cut_stacks += frames_.was_cut() ? 1 : 0;
    return Look::read;
  }
  ++figures_.failed_looks;
  return Look::failed;
}

void Sampler::write() {
  is_list_stale_ = true;  // to be sure
  threads_.close_old(static_cast<uint64_t>(figures_.ticks), tick_ns_ - kLongestOpenNs);
  rows_.write();
  while (rows_.written() >= rows_to_doubling_) {
    rows_to_doubling_ += kRowsToDoubling / 2;
    least_interval_ns_ *= 2;
  }
  keep_to_cost(figures_.cpu_ns - written_cpu_ns_, tick_ns_ - written_ns_);
  written_cpu_ns_ = figures_.cpu_ns;
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
