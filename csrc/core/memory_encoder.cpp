#include "core/memory_encoder.h"

namespace perfprobe {

void MemoryEncoder::encode(std::span<const MemoryRecord> rows, int32_t thread,
                           const TickConverter& clock, BlockEncoder& encoder) {
  constexpr auto kColumns = MemoryRecord::columns();
  values_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    values_[i] = rows[i].ticks;
  clock.to_ns(values_);
  encoder.begin(MemoryRecord::kTable, rows.size(), kOwnColumns.size() + kColumns.size());
  encoder.add_delta(kOwnColumns[0], values_);
  encoder.add_constant(kOwnColumns[1], thread);
  for (const auto& column : kColumns) {
    column.copy(rows, values_.data());
    if (column.values == Values::climbing)
      encoder.add_delta(column.name, values_);
    else
      encoder.add_ids(column.name, values_);
  }
}

}  // namespace perfprobe
