#include "cpu/sample_sums.h"

#include <algorithm>

#include "core/clock.h"
#include "core/hash.h"

namespace perfprobe {

size_t SampleSums::Hash::operator()(const Key& key) const {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(key.stack),
             static_cast<uint64_t>(key.thread) * 8 + static_cast<uint64_t>(key.fate));
  return hasher.result().low;
}

// Samples from before the first step show the program's start. They are kept, up to a limit.
void SampleSums::sort_out(RowTable<SampleRow>& kept, bool is_last) {
  KeptSpans::News news = KeptSpans::instance().take();
  sums_due_ = news.sums_due;
  const bool is_first = decided_ns_ < 0;
  spans_.insert(spans_.end(), news.spans.begin(), news.spans.end());
  if (!news.spans.empty())
    decided_ns_ = news.spans.back().end_ns;
  const int64_t first_ns = is_first && !spans_.empty() ? spans_.front().start_ns : -1;
  MappedVector<SampleRow> waiting;
  const bool all = is_last || held_.size() >= kMostHeld;
  for (const SampleRow& row : held_) {
    const int64_t middle_ns = row.start_ns + (row.end_ns - row.start_ns) / 2;
    const bool is_start = (is_first && spans_.empty()) || middle_ns < first_ns;
    if (!all && row.end_ns > decided_ns_) {
      waiting.push_back(row);
    } else if (is_start && before_first_ < kFirst) {
      ++before_first_;
      kept.add(row);
    } else {
      const Fate fate = fate_at(middle_ns);
      if (fate == Fate::slow)
        kept.add(row);
      add(row, fate);
    }
  }
  held_.swap(waiting);
  const int64_t oldest_ns = held_.empty() ? decided_ns_ : held_.front().start_ns;
  std::erase_if(spans_, [oldest_ns](const auto& span) { return span.end_ns < oldest_ns; });
}

Fate SampleSums::fate_at(int64_t time_ns) const {
  const auto behind = std::upper_bound(
      spans_.begin(), spans_.end(), time_ns,
      [](int64_t time, const KeptSpans::Span& span) { return time < span.start_ns; });
  if (behind == spans_.begin())
    return Fate::apart;
  const KeptSpans::Span& span = *(behind - 1);
  return time_ns < span.end_ns ? span.fate : Fate::apart;
}

void SampleSums::add(const SampleRow& row, Fate fate) {
  Key key{row.thread, row.look == Look::read ? row.stack : kNone, fate};
  if (sums_.size() >= kMost && !sums_.contains(key))
    key = {kNone, kNone, fate};
  SampleSum& sum = sums_[key];
  sum.fate = key.fate;
  sum.thread = key.thread;
  sum.stack = key.stack;
  sum.looks += row.looks;
  sum.time_ns += row.end_ns - row.start_ns;
}

void SampleSums::write(Recorder& recorder, bool is_last) {
  if (sums_due_ == sums_written_ && !is_last)
    return;
  sums_written_ = sums_due_;
  RowTable<SampleSum> rows;
  const int64_t now_ns = monotonic_ns();
  for (auto& [key, sum] : sums_) {
    if (sum.time_ns == 0 && sum.looks == 0)
      continue;
    sum.until_ns = now_ns;
    rows.add(sum);
    sum.looks = sum.time_ns = 0;
  }
  rows.write(recorder);
}

}  // namespace perfprobe
