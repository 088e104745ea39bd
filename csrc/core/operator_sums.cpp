#include "core/operator_sums.h"

#include <algorithm>
#include <bit>

#include "core/hash.h"

namespace perfprobe {
namespace {

constexpr int64_t kShortestNs = 1'000;
constexpr size_t kThreads = 1'024;  // threads whose nested operators are followed

// Returns the place in `OperatorSum::below`. Its limits are 1 us times powers of four.
size_t bin_of(int64_t time_ns, size_t bins) {
  const auto times = static_cast<uint64_t>(std::max<int64_t>(time_ns, 0) / kShortestNs);
  return std::min((static_cast<size_t>(std::bit_width(times)) + 1) / 2, bins - 1);
}

}  // namespace

size_t OperatorSums::Hash::operator()(const Key& key) const {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(key.stack), static_cast<uint64_t>(key.signature));
  hasher.add(static_cast<uint64_t>(key.name),
             static_cast<uint64_t>(key.overload) * 8 + static_cast<uint64_t>(key.fate));
  return hasher.result().low;
}

OperatorSum& OperatorSums::find(const Key& key) {
  const auto known = sums_.find(key);
  if (known != sums_.end())
    return known->second;
  if (sums_.size() >= kMost && key.name != kNone) {
    ++others_;
    return find({kNone, kNone, kNone, kNone, key.fate});
  }
  OperatorSum& made = sums_[key];
  made = {.until_ns = 0,
          .fate = key.fate,
          .name = key.name,
          .overload = key.overload,
          .signature = key.signature,
          .stack = key.stack,
          .calls = 0,
          .total_ns = 0,
          .self_ns = 0,
          .most_ns = 0,
          .below = {}};
  return made;
}

void OperatorSums::add(std::span<const OperatorRecord> rows, int32_t thread, Fate fate,
                       const TickConverter& clock) {
  start_ns_.resize(rows.size());
  end_ns_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    start_ns_[i] = rows[i].start_ticks;
    end_ns_[i] = rows[i].end_ticks;
  }
  clock.to_ns(start_ns_);
  clock.to_ns(end_ns_);
  if (inside_.size() >= kThreads)
    inside_.clear();
  Inside& inside = inside_[thread];
  for (size_t i = 0; i < rows.size(); ++i) {
    const OperatorRecord& row = rows[i];
    const int64_t time_ns = std::max<int64_t>(end_ns_[i] - start_ns_[i], 0);
    const size_t depth =
        std::min<size_t>(static_cast<size_t>(std::max<int16_t>(row.depth, 0)), kDeepest);
    OperatorSum& sum = find({row.name, row.overload, row.signature, row.stack, fate});
    ++sum.calls;
    sum.total_ns += time_ns;
    sum.self_ns += std::max<int64_t>(time_ns - inside[depth + 1], 0);
    sum.most_ns = std::max(sum.most_ns, time_ns);
    ++sum.below[bin_of(time_ns, sum.below.size())];
    inside[depth + 1] = 0;
    inside[depth] = depth == 0 ? 0 : inside[depth] + time_ns;
  }
  rows_ += static_cast<int64_t>(rows.size());
}

MappedVector<OperatorSum> OperatorSums::take(int64_t until_ns) {
  MappedVector<OperatorSum> found;
  for (auto& [key, sum] : sums_) {
    if (sum.calls == 0)
      continue;
    found.push_back(sum);
    found.back().until_ns = until_ns;
    sum.calls = sum.total_ns = sum.self_ns = sum.most_ns = 0;
    sum.below = {};
  }
  return found;
}

}  // namespace perfprobe
