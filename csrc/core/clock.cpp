#include "core/clock.h"

#include <cmath>
#include <fcntl.h>
#include <iterator>
#include <limits>
#include <string_view>
#include <unistd.h>

namespace perfprobe {
namespace {

struct Reading {
  int64_t ticks;
  int64_t ns;
};

// Reads both clocks several times and keeps the try that took least, because it was not
// interrupted.
Reading read_both() {
  Reading best{};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const int64_t before = read_ticks();
    const int64_t ns = monotonic_ns();
    const int64_t after = read_ticks();
    if (after - before >= least)
      continue;
    least = after - before;
    best = {before + (after - before) / 2, ns};
  }
  return best;
}

double rate_between(const Reading& first, const Reading& last) {
  return static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks);
}

constexpr int64_t kWarmUpNs = 1'000'000;
constexpr int64_t kLeastPairNs =
    20'000'000;  // closer pairs would give a rate dominated by reading errors
constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
constexpr double kSlewLimit = 0.01;  // NTP slews by 0.0005 at most; readings are exact to 1e-4

}  // namespace

// Allocates nothing: it is called while the module is loaded, where an exception ends the process.
bool kernel_trusts_tsc() {
  const int file = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  char name[16];
  const ssize_t bytes = ::read(file, name, sizeof(name));
  ::close(file);
  return std::string_view(name, bytes < 0 ? 0 : static_cast<size_t>(bytes)) == "tsc\n";
}

// The rate of this process. Forked children inherit it and need not measure it again.
std::atomic<double> TickConverter::known_rate_{0.0};

// The first rate comes from one millisecond. It only serves rows older than the second pair.
TickConverter::TickConverter() {
  const Reading first = read_both();
  double rate = ticks_are_tsc ? known_rate_.load() : 1.0;
  if (rate == 0.0) {
    while (monotonic_ns() < first.ns + kWarmUpNs) {
    }
    rate = rate_between(first, read_both());
    known_rate_ = rate;
  }
  pairs_.push_back({first.ticks, first.ns, rate});
}

void TickConverter::add_pair() {
  if (!ticks_are_tsc)
    return;
  const Reading now = read_both();
  Pair& last = pairs_.back();
  if (now.ticks <=
      last.ticks) {  // the counter was set back: its earlier values are meaningless now
    pairs_ = {Pair{now.ticks, now.ns, last.ns_per_tick}};
    return;
  }
  if (now.ns - last.ns < kLeastPairNs)
    return;
  const double rate = rate_between({last.ticks, last.ns}, now);
  last.broken = std::abs(rate / last.ns_per_tick - 1.0) > kSlewLimit;
  if (!last.broken)
    last.ns_per_tick = rate;
  pairs_.push_back({now.ticks, now.ns, last.ns_per_tick});
  if (pairs_.size() > kPairs)
    pairs_.pop_front();
}

TickConverter::Line TickConverter::line_at(int64_t ticks) const {
  auto pair = pairs_.rbegin();  // usually the second newest pair
  while (std::next(pair) != pairs_.rend() && ticks < pair->ticks)
    ++pair;
  const bool is_oldest = std::next(pair) == pairs_.rend();
  Line line{is_oldest ? kEarliest : pair->ticks, kLatest, *pair};
  if (pair == pairs_.rbegin())
    return line;
  const auto next = std::prev(pair);
  line.last = next->ticks - 1;
  if (!pair->broken)
    return line;
  // After the sleep: count back from the next pair.
  const int64_t middle = pair->ticks + (next->ticks - pair->ticks) / 2;
  if (ticks <= middle)
    line.last = middle;
  else
    line = {middle + 1, next->ticks - 1, *next};
  return line;
}

int64_t TickConverter::to_ns(int64_t ticks) const {
  return ticks_are_tsc ? line_at(ticks).to_ns(ticks) : ticks;
}

void TickConverter::to_ns(std::span<int64_t> ticks) const {
  if (!ticks_are_tsc || ticks.empty())
    return;
  Line line = line_at(ticks.front());
  for (int64_t& value : ticks) {
    if (value < line.first || value > line.last)
      line = line_at(value);
    value = line.to_ns(value);
  }
}

}  // namespace perfprobe
