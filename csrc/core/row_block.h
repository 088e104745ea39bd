// Encodes rows of a table as one block.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/block_encoder.h"
#include "core/row_column.h"

namespace perfprobe {

// The payload is in `encoder`. There must be at least one row.
template <class Row>
void encode_table(std::span<const Row> rows, BlockEncoder& encoder) {
  constexpr auto kColumns = Row::columns();
  std::vector<int64_t> numbers;
  std::vector<std::string_view> texts;
  encoder.begin(Row::kTable, rows.size(), kColumns.size());
  for (const RowColumn<Row>& column : kColumns) {
    if (column.values == Values::text) {
      texts.clear();
      for (const Row& row : rows)
        texts.push_back(column.text(row));
      encoder.add_text(column.name, texts);
    } else {
      numbers.resize(rows.size());
      column.copy(rows, numbers.data());
      encoder.add_ids(column.name, numbers);
    }
  }
}

}  // namespace perfprobe
