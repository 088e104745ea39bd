#include "core/processor_use.h"

#include <algorithm>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace perfprobe {
namespace {

constexpr size_t kMostChildren = 64;

int64_t ns_of(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

ProcessorUse::ProcessorUse(std::string root, std::string cpu_stat)
    : proc_(std::move(root) + "proc/"),
      cpu_stat_(std::move(cpu_stat)),
      tick_ns_(1'000'000'000 / std::max(::sysconf(_SC_CLK_TCK), 1L)) {}

ProcessorTimesRow ProcessorUse::read(int64_t time_ns) {
  ProcessorTimesRow row{time_ns, process_cpu_ns(), children_cpu_ns(), -1, -1, -1, -1, -1};
  read_busy(row);
  // "some avg10=.. total=N": microseconds.
  const std::string_view pressure = file_.read(proc_ + "pressure/cpu");
  const int64_t pressure_us = number_behind(pressure.substr(0, pressure.find('\n')), "total");
  row.pressure_ns = pressure_us < 0 ? -1 : pressure_us * 1000;
  if (cpu_stat_.empty())
    return row;
  const std::string_view quota = file_.read(cpu_stat_);
  const int64_t throttled_us = number_behind(quota, "throttled_usec");  // version 2 of cgroups
  row.throttled_ns =
      throttled_us < 0 ? number_behind(quota, "throttled_time") : throttled_us * 1000;
  return row;
}

// Busy time is the columns user, nice, system, irq and softirq; the eighth column is stolen time.
void ProcessorUse::read_busy(ProcessorTimesRow& row) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Asks for the main thread, because this thread may have another affinity.
  if (::sched_getaffinity(::getpid(), sizeof(allowed), &allowed) != 0)
    return;
  row.processors = CPU_COUNT(&allowed);
  std::string_view text = file_.read(proc_ + "stat");
  int64_t busy = 0;
  int64_t stolen = 0;
  int found = 0;
  for (take_line(text); text.starts_with("cpu");) {  // the first line is of all
    std::string_view line = take_line(text).substr(3);
    const int64_t number = take_number(line);
    if (number < 0 || number >= CPU_SETSIZE || !CPU_ISSET(static_cast<size_t>(number), &allowed))
      continue;
    std::array<int64_t, 8> ticks{};
    for (int64_t& value : ticks)
      value = std::max<int64_t>(take_number(line), 0);
    busy += ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
    stolen += ticks[7];
    ++found;
  }
  if (found == 0)
    return;
  row.busy_ns = busy * tick_ns_;
  row.stolen_ns = stolen * tick_ns_;
}

int64_t ProcessorUse::children_cpu_ns() {
  rusage ended{};
  ::getrusage(RUSAGE_CHILDREN, &ended);
  return ns_of(ended.ru_utime) + ns_of(ended.ru_stime) + descendants_ticks() * tick_ns_;
}

// Sums the living descendants. Only children of main threads are found; other threads rarely start
// processes.
int64_t ProcessorUse::descendants_ticks() {
  int64_t ticks = 0;
  std::vector<int64_t> processes{::getpid()};
  for (size_t i = 0; i < processes.size(); ++i) {
    const std::string number = std::to_string(processes[i]);
    std::string path = proc_ + number;
    if (i > 0) {
      std::string_view stat = file_.read(path + "/stat");
      stat.remove_prefix(std::min(stat.rfind(')') + 1, stat.size()));  // names may hold anything
      for (int field = 3; field < 14; ++field)
        stat.remove_prefix(std::min(stat.find(' ', 1), stat.size()));
      for (int field = 14; field <= 17; ++field)  // its own time, and that of its ended children
        ticks += std::max<int64_t>(take_number(stat), 0);
    }
    path.append("/task/").append(number).append("/children");
    std::string_view children = file_.read(path);
    for (int64_t child = take_number(children); child > 0; child = take_number(children)) {
      if (processes.size() <= kMostChildren)
        processes.push_back(child);
    }
  }
  return ticks;
}

}  // namespace perfprobe
