#include "gpu/range_matcher.h"

#include <algorithm>

namespace perfprobe {
namespace {

constexpr int32_t kUnknown = -2;  // not yet a string of the recording

// Nested ranges of one source and domain form a stack, independent of others.
bool are_alike(const OpenRange& range, RangeSource source, int32_t domain) {
  return range.source == source && range.domain == domain;
}

}  // namespace

void RangeMatcher::take(MatchedThread& thread, const RangeEvent& event) {
  switch (event.act) {
    case RangeAct::push:
      return push(thread, event);
    case RangeAct::pop:
      return pop(thread, event);
    case RangeAct::start:
      return start(thread, event);
    case RangeAct::end:
      if (!end(event.id, event.time_ns) && late_.size() < kMostFree)
        late_.push_back({event.time_ns, event.id, 0});
      return;
    case RangeAct::mark:
      return add(opened(thread, event), event.time_ns, RangeKind::mark);
    case RangeAct::name_thread:
      return name_thread(event.id, event.name);
  }
}

OpenRange RangeMatcher::opened(MatchedThread& thread, const RangeEvent& event) {
  return {.start_ns = event.time_ns,
          .id = event.id,
          .thread = event.is_outside ? kNone : thread_row(thread),
          .name = event.name,
          .domain = event.domain,
          .source = event.source,
          .is_outside = event.is_outside};
}

void RangeMatcher::push(MatchedThread& thread, const RangeEvent& event) {
  if (thread.open.size() >= kDeepest) {
    ++thread.excess;
    ++figures_.too_many;
    return;
  }
  thread.open.push_back(opened(thread, event));
}

void RangeMatcher::pop(MatchedThread& thread, const RangeEvent& event) {
  if (thread.excess > 0 && event.id == 0) {
    --thread.excess;
    return;
  }
  RangeKind kind = RangeKind::nested;
  for (size_t place = thread.open.size(); place-- > 0;) {
    const OpenRange range = thread.open[place];
    if (!are_alike(range, event.source, event.domain))
      continue;
    if (range.id == event.id) {
      add(range, event.time_ns, kind);
      thread.open.erase(thread.open.begin() + static_cast<std::ptrdiff_t>(place));
      return;
    }
    kind = RangeKind::free;  // it ends while a range that began later is still open
  }
  if (thread.excess > 0)
    --thread.excess;
  else
    ++figures_.unmatched;
}

void RangeMatcher::start(MatchedThread& thread, const RangeEvent& event) {
  if (free_.size() >= kMostFree) {
    ++figures_.too_many;
    return;
  }
  free_[event.id] = opened(thread, event);
}

bool RangeMatcher::end(int64_t id, int64_t time_ns) {
  const auto range = free_.find(id);
  if (range == free_.end())
    return false;
  add(range->second, time_ns, RangeKind::free);
  free_.erase(range);
  return true;
}

void RangeMatcher::end_round() {
  constexpr int kRounds = 2;
  std::erase_if(late_, [this](LateEnd& late) {
    const bool is_known = end(late.id, late.time_ns);
    const bool is_lost = !is_known && ++late.rounds >= kRounds;
    figures_.unmatched += is_lost ? 1 : 0;
    return is_known || is_lost;
  });
}

void RangeMatcher::write_open(MatchedThread& thread) {
  for (const OpenRange& range : thread.open)
    add_open(range, RangeKind::nested);
  thread.open.clear();
}

void RangeMatcher::write_free() {
  figures_.unmatched += static_cast<int64_t>(late_.size());
  for (const auto& [id, range] : free_)
    add_open(range, RangeKind::free);
  free_.clear();
}

void RangeMatcher::name_thread(int64_t os_thread, int32_t name) {
  constexpr size_t kMostNames = 16'384;
  if (thread_names_.size() < kMostNames)
    thread_names_[os_thread] = name;
}

void RangeMatcher::add_open(const OpenRange& range, RangeKind kind) {
  add(range, -1, kind);
  figures_.open += range.is_outside ? 0 : 1;
}

void RangeMatcher::add(const OpenRange& range, int64_t end_ns, RangeKind kind) {
  if (range.is_outside)
    return;
  if (++counts_[{range.source, range.domain}] > kMostRows) {
    ++figures_.beyond;
    return;
  }
  const int32_t domain = range.domain == kNone ? kNone : string(range.domain);
  rows_.add({.start_ns = range.start_ns,
             .end_ns = end_ns,
             .thread = range.thread,
             .name = string(range.name),
             .domain = domain,
             .source = range.source,
             .kind = kind});
  ++figures_.rows[static_cast<size_t>(range.source)];
  figures_.other += range.name == RangeNames::kOther ? 1 : 0;
  if (rows_.is_full())
    write();
}

int32_t RangeMatcher::thread_row(MatchedThread& thread) {
  if (thread.row == kNone) {
    thread.row = thread_rows_.add(thread.os_thread, [&] {
      const auto named = thread_names_.find(thread.os_thread);
      return named != thread_names_.end() ? names_.text(named->second) : thread.kernel_name;
    });
  }
  return thread.row;
}

int32_t RangeMatcher::string(int32_t name) {
  const auto place = static_cast<size_t>(name);
  if (place >= strings_.size())
    strings_.resize(std::max(place + 1, 2 * strings_.size()), kUnknown);
  if (strings_[place] == kUnknown) {
    const char* text = names_.text(name);
    strings_[place] =
        recorder_.define([&](Definitions& to) { return to.intern_name(text, false).id; });
  }
  return strings_[place];
}

}  // namespace perfprobe
