#include "core/operator_encoder.h"

#include <algorithm>

namespace perfprobe {
namespace {

using Rows = std::span<const OperatorRecord>;

// Rows gathered at a time: 18 KB of records stay in the first-level cache while each column takes
// its field from them.
constexpr size_t kTile = 256;

constexpr auto kColumns = OperatorRecord::columns();

void take_ns(Rows rows, int64_t OperatorRecord::* ticks, const TickConverter& clock, int64_t* to) {
  for (const OperatorRecord& row : rows)
    *to++ = clock.to_ns(row.*ticks);
}

// Sequence numbers climb by small steps, but a column that is all -1 (no grad) takes one byte in
// all.
bool climbs(std::span<const int64_t> values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end();
}

}  // namespace

void OperatorEncoder::gather(Rows rows, size_t first, const TickConverter& clock) {
  take_ns(rows, &OperatorRecord::start_ticks, clock, start_ns_.data() + first);
  take_ns(rows, &OperatorRecord::end_ticks, clock, end_ns_.data() + first);
  for (size_t i = 0; i < kColumns.size(); ++i)
    kColumns[i].copy(rows, columns_[i].data() + first);
}

void OperatorEncoder::encode(Rows rows, int32_t thread, const TickConverter& clock,
                             BlockEncoder& encoder) {
  start_ns_.resize(rows.size());
  end_ns_.resize(rows.size());
  for (Column& column : columns_)
    column.resize(rows.size());
  for (size_t first = 0; first < rows.size(); first += kTile)
    gather(rows.subspan(first, std::min(kTile, rows.size() - first)), first, clock);
  encoder.begin(OperatorRecord::kTable, rows.size(), kOwnColumns.size() + kColumns.size());
  encoder.add_delta(kOwnColumns[0], start_ns_);
  encoder.add_relative(kOwnColumns[1], end_ns_, 0, start_ns_);
  encoder.add_constant(kOwnColumns[2], thread);
  for (size_t i = 0; i < kColumns.size(); ++i) {
    if (kColumns[i].values == Values::climbing && climbs(columns_[i]))
      encoder.add_delta(kColumns[i].name, columns_[i]);
    else
      encoder.add_ids(kColumns[i].name, columns_[i]);
  }
}

}  // namespace perfprobe
