#include "cpu/perf/perf_counters.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/clock.h"
#include "core/kernel_files.h"
#include "core/native_thread.h"
#include "core/thread_clock.h"
#include "core/thread_name.h"

namespace perfprobe {
namespace {

// Returns how much a count rose; -1 if it is not counted, or its group did not count meanwhile.
int64_t difference(const CounterValues& now, const CounterValues& before, size_t counter) {
  const auto group = static_cast<size_t>(counter_events()[counter].group);
  if (now.count[counter] < 0 || now.running_ns[group] == before.running_ns[group])
    return -1;
  return now.count[counter] - std::max<int64_t>(before.count[counter], 0);
}

int64_t ran_ns(const CounterValues& now, const CounterValues& before, CounterGroup group) {
  const auto at = static_cast<size_t>(group);
  return now.running_ns[at] - before.running_ns[at];
}

CounterRow row_of(const CounterValues& now, const CounterValues& before) {
  std::array<int64_t, kCounterEvents> since{};
  for (size_t i = 0; i < kCounterEvents; ++i)
    since[i] = difference(now, before, i);
  CounterRow row{};
  row.page_faults = since[0];
  row.context_switches = since[1];
  row.migrations = since[2];
  row.cycles = since[3];
  row.instructions = since[4];
  row.branches = since[5];
  row.branch_misses = since[6];
  row.cache_references = since[7];
  row.cache_misses = since[8];
  row.l1_misses = since[9];
  row.frontend_stalls = since[10];
  row.backend_stalls = since[11];
  for (size_t group = 1; group < kCounterGroups; ++group)
    row.enabled_ns = std::max(row.enabled_ns, now.enabled_ns[group] - before.enabled_ns[group]);
  row.core_ns = ran_ns(now, before, CounterGroup::core);
  row.cache_ns = ran_ns(now, before, CounterGroup::cache);
  row.stalls_ns = ran_ns(now, before, CounterGroup::stalls);
  return row;
}

}  // namespace

PerfCounters::PerfCounters(Recorder& recorder, int64_t interval_ns, const std::string& root,
                           OpenEvent open)
    : recorder_(recorder),
      open_(open),
      allowed_(allowed_events(open)),
      traffic_(root, open),
      interval_ns_(interval_ns) {
  figures_.interval_ns = interval_ns;
}

void PerfCounters::start() {
  const std::lock_guard lock(mutex_);
  start_traffic();
  runs_ = true;
  written_ns_ = traffic_ns_ = monotonic_ns();
  list();
  recorder_.set_alarm(monotonic_ns() + interval_ns_, &PerfCounters::ring, this);
}

void PerfCounters::stop() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(runs_, false))
    return;
  read();
  write();
  threads_.clear();
}

void PerfCounters::ring(void* self) {
  static_cast<PerfCounters*>(self)->beat();
}

void PerfCounters::beat() {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  const int64_t before_ns = thread_cpu_ns();
  try {
    if (monotonic_ns() - listed_ns_ >= kListNs)
      list();
    read();
    if (monotonic_ns() - written_ns_ >= kWriteNs)
      write();
  } catch (const std::bad_alloc&) {  // the next reading gets what was counted until here
  }
  const int64_t took_ns = thread_cpu_ns() - before_ns;
  figures_.cpu_ns += took_ns;
  const int64_t pause_ns = std::max({interval_ns_, took_ns * kMostCost, idle_ns_});
  recorder_.set_alarm(monotonic_ns() + pause_ns, &PerfCounters::ring, this);
}

void PerfCounters::list() {
  listed_ns_ = monotonic_ns();
  const std::vector<int64_t> listed = numbered_entries("/proc/self/task/");
  std::erase_if(threads_, [&](const auto& entry) {
    return std::find(listed.begin(), listed.end(), entry.first) == listed.end();
  });
  int64_t unread = 0;
  for (const int64_t os_thread : listed) {
    if (threads_.contains(os_thread))
      continue;
    if (threads_.size() < kMostThreads)
      follow(os_thread);
    else
      ++unread;
  }
  figures_.unread_threads = std::max(figures_.unread_threads, unread);
}

void PerfCounters::follow(int64_t os_thread) {
  const std::string name = thread_name(os_thread);
  Known known;
  known.since_ns = monotonic_ns();
  known.cpu_ns = thread_cpu_time_ns(os_thread);
  if (name != kOwnThreadName) {
    start_counters(os_thread, known);
    if (known.counters.is_open()) {
      known.row = thread_rows_.add(os_thread, [&] { return name; });
      ++figures_.threads;
    }
  }
  threads_.emplace(os_thread, std::move(known));
}

// Counts from 0, also if it counted before.
void PerfCounters::start_counters(int64_t os_thread, Known& known) {
  known.counters = {};
  if (known.counters.open(static_cast<pid_t>(os_thread), allowed_, open_) != 0)
    ++figures_.unread_threads;
  known.counters.read(known.before);
}

void PerfCounters::read() {
  const int64_t now_ns = monotonic_ns();
  bool has_run = false;
  for (auto& [os_thread, known] : threads_)
    if (known.row != kNone)
      has_run |= read_thread(os_thread, known, now_ns);
  read_traffic(now_ns);
  ++figures_.readings;
  idle_ns_ = has_run ? 0 : std::clamp<int64_t>(2 * idle_ns_, interval_ns_, kLongestNs);
}

bool PerfCounters::read_thread(int64_t os_thread, Known& known, int64_t now_ns) {
  const int64_t cpu_ns = thread_cpu_time_ns(os_thread);
  if (cpu_ns < 0 || cpu_ns == known.cpu_ns) {  // it has ended, or did not run
    known.since_ns = now_ns;
    return false;
  }
  CounterValues values;
  if (known.counters.read(values)) {
    CounterRow row = row_of(values, known.before);
    row.start_ns = known.since_ns;
    row.end_ns = now_ns;
    row.cpu_ns = cpu_ns - known.cpu_ns;
    row.thread = known.row;
    rows_.add(row);
    known.before = values;
  } else if (known.counters.is_open()) {
    ++figures_.times_closed;
    start_counters(os_thread, known);
  }
  known.cpu_ns = cpu_ns;
  known.since_ns = now_ns;
  return true;
}

void PerfCounters::start_traffic() {
  try {
    traffic_.start();
  } catch (const RefusedEvent& refused) {
    traffic_refused_ = refused.refusal;
  }
}

void PerfCounters::read_traffic(int64_t now_ns) {
  if (!traffic_.runs())
    return;
  const std::optional<MemoryBytes> sum = traffic_.read();
  if (sum) {
    traffic_rows_.add({traffic_ns_, now_ns, sum->read - traffic_before_.read,
                       sum->written - traffic_before_.written});
  } else {
    ++figures_.times_closed;
    start_traffic();
  }
  traffic_before_ = sum.value_or(MemoryBytes{0, 0});
  traffic_ns_ = now_ns;
}

// In a long recording readings become rarer: half as many each time kRowsToRarer rows are written.
void PerfCounters::write() {
  written_ns_ = monotonic_ns();
  rows_written_ += static_cast<int64_t>(rows_.size());
  rows_.write(recorder_);
  traffic_rows_.write(recorder_);
  if (rows_written_ >= rows_to_rarer_) {
    rows_to_rarer_ += kRowsToRarer / 2;
    interval_ns_ *= 2;
  }
}

}  // namespace perfprobe
