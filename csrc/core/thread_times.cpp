#include "core/thread_times.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/clock.h"
#include "core/thread_clock.h"

namespace perfprobe {

ThreadTimes::ThreadTimes(Recorder& recorder, const std::string& root, const std::string& cpu_stat)
    : recorder_(recorder),
      tasks_(root + "proc/self/task/"),
      is_real_(root == "/"),
      thread_rows_(recorder),
      processors_(root, cpu_stat) {}

void ThreadTimes::start() {
  const std::lock_guard lock(mutex_);
  runs_ = true;
  read(Extent::all);
  recorder_.set_heartbeat_alarm(&ThreadTimes::ring, this);
}

void ThreadTimes::stop() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(runs_, false))
    return;
  read(Extent::all);
  // The object is never deleted (the writer may still call it), so its memory is freed here.
  file_ = KernelFile();
  processors_.let_go();
  threads_ = {};
  rows_ = {};
  processor_rows_ = {};
}

void ThreadTimes::ring(void* self) {
  static_cast<ThreadTimes*>(self)->beat();
}

void ThreadTimes::beat() {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  if (monotonic_ns() >= due_ns_)
    read(Extent::some);
  recorder_.set_heartbeat_alarm(&ThreadTimes::ring, this);
}

void ThreadTimes::read(Extent extent) noexcept {
  const int64_t before_ns = thread_cpu_ns();
  try {
    read_all(extent);
  } catch (const std::bad_alloc&) {  // the next reading gets what was found until here
  }
  const int64_t took_ns = thread_cpu_ns() - before_ns;
  ++readings_;
  cpu_ns_ += took_ns;
  if (written_ >= rows_to_rarer_) {
    rows_to_rarer_ += kRowsToRarer / 2;
    least_interval_ns_ = std::max(2 * least_interval_ns_, kSecondNs);
  }
  due_ns_ = monotonic_ns() + std::max(took_ns * kMostCost, least_interval_ns_);
}

// All rows of a reading have the same time, so sums of it belong to one moment, except for the time
// that reading takes.
void ThreadTimes::read_all(Extent extent) {
  const int64_t time_ns = monotonic_ns();
  with_switches_ = extent == Extent::all || time_ns >= switches_due_ns_;
  if (with_switches_)
    switches_due_ns_ = time_ns + kSwitchesNs;
  const std::vector<int64_t> listed = numbered_entries(tasks_);
  size_t left = extent == Extent::all ? listed.size() : kMostThreads;
  size_t looked = 0;
  for (; looked < listed.size() && left > 0; ++looked)
    left -= read_thread(listed[(first_ + looked) % listed.size()], time_ns) ? 1 : 0;
  first_ = left == 0 && !listed.empty() ? (first_ + looked) % listed.size() : 0;
  if (looked == listed.size())
    forget_ended();
  processor_rows_.add(processors_.read(time_ns));
  written_ += static_cast<int64_t>(rows_.size());
  rows_.write(recorder_);
  processor_rows_.write(recorder_);
}

// The thread's CPU clock tells whether it has run up to now, at a tenth of the cost of reading the
// file. The file's value of a running thread is only as new as the last tick. A thread that has not
// run has not waited either, as far as the kernel counts.
bool ThreadTimes::read_thread(int64_t os_thread, int64_t time_ns) {
  int64_t run_ns = is_real_ ? thread_cpu_time_ns(os_thread) : -1;
  if (is_real_ && run_ns < 0)
    return false;  // it has ended
  Known& known = threads_[os_thread];
  known.reading = readings_;
  if (is_real_ && run_ns == known.run_ns)
    return false;
  std::string_view text = file_.read(tasks_ + std::to_string(os_thread) + "/schedstat");
  const int64_t file_ns = take_number(text);
  const int64_t wait_ns = file_ns < 0 ? -1 : take_number(text);
  run_ns = is_real_ ? run_ns : file_ns;
  if (run_ns < 0)
    return true;
  if (known.row == kNone || run_ns < known.run_ns)  // its number was given to a new thread
    known.row = thread_rows_.add(os_thread, [&] { return name(os_thread); });
  known.run_ns = run_ns;
  ThreadTimesRow row{.time_ns = time_ns, .run_ns = run_ns, .wait_ns = wait_ns, .thread = known.row};
  if (with_switches_)
    read_switches(os_thread, row);
  rows_.add(row);
  return true;
}

// The kernel formats either file in 10 us or so.
void ThreadTimes::read_switches(int64_t os_thread, ThreadTimesRow& row) {
  const std::string folder = tasks_ + std::to_string(os_thread);
  const std::string_view status = file_.read(folder + "/status");
  row.voluntary = number_behind(status, "\nvoluntary_ctxt_switches:");
  row.involuntary = number_behind(status, "\nnonvoluntary_ctxt_switches:");
  std::string_view stat = file_.read(folder + "/stat");
  stat.remove_prefix(std::min(stat.rfind(')') + 1, stat.size()));  // its name may hold anything
  for (int field = 3; field < 39; ++field)
    stat.remove_prefix(std::min(stat.find(' ', 1), stat.size()));
  row.processor = static_cast<int32_t>(take_number(stat));
}

std::string ThreadTimes::name(int64_t os_thread) {
  const std::string_view text = file_.read(tasks_ + std::to_string(os_thread) + "/comm");
  return std::string(text.substr(0, text.find('\n')));
}

void ThreadTimes::forget_ended() {
  std::erase_if(threads_, [&](const auto& entry) { return entry.second.reading < readings_; });
}

}  // namespace perfprobe
