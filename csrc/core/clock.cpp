#include "core/clock.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace perfprobe {
namespace {

struct Reading {
  int64_t ticks;
  int64_t ns;
};

// Of several tries the one with the least time between the two reads of the counter: nothing came
// between.
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

constexpr int64_t kWarmUpNs = 1'000'000;
constexpr int64_t kLeastPairNs = 20'000'000;  // closer ones would give a rate of reading errors
constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
constexpr double kSlewLimit = 0.01;  // NTP slews by 0.0005 at most; readings are exact to 1e-4

}  // namespace

bool kernel_trusts_tsc() {
  std::ifstream source("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  source >> name;
  return name == "tsc";
}

// The first rate comes from one millisecond; it only serves rows older than the second pair.
TickConverter::TickConverter() {
  const Reading first = read_both();
  pairs_.push_back({first.ticks, first.ns, 1.0});
  if (!ticks_are_tsc)
    return;
  while (monotonic_ns() < first.ns + kWarmUpNs) {
  }
  add_pair();
}

void TickConverter::add_pair() {
  if (!ticks_are_tsc)
    return;
  const Reading now = read_both();
  const bool first = pairs_.size() == 1;
  if (!first && now.ticks > pairs_.back().ticks && now.ns - pairs_.back().ns < kLeastPairNs)
    return;
  if (now.ticks <=
      pairs_.back().ticks) {  // the counter was set back: what it said has no meaning any more
    pairs_ = {Pair{now.ticks, now.ns, pairs_.back().ns_per_tick}};
    return;
  }
  Pair& last = pairs_.back();
  const double before = last.ns_per_tick;
  const double rate =
      static_cast<double>(now.ns - last.ns) / static_cast<double>(now.ticks - last.ticks);
  last.broken = !first && std::abs(rate / before - 1.0) > kSlewLimit;
  if (!last.broken)
    last.ns_per_tick = rate;
  pairs_.push_back({now.ticks, now.ns, last.ns_per_tick});
  if (pairs_.size() > kPairs)
    pairs_.pop_front();
}

TickConverter::Line TickConverter::line_at(int64_t ticks) const {
  auto pair = pairs_.rbegin();  // nearly always the newest pair but one
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
  // After the sleep: count back from the pair behind it.
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
