// Collects rows of one table and writes them to the recording, at most one block at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/recorder.h"
#include "core/row_column.h"

namespace perfprobe {

// All columns of the table are numbers.
template <class Row>
class RowTable {
 public:
  void add(const Row& row) { rows_.push_back(row); }
  [[nodiscard]] size_t size() const { return rows_.size(); }
  [[nodiscard]] bool is_full() const { return rows_.size() >= kBlockRows; }

  // Writes the rows as one block, with the definitions they refer to. Rows that the disk refused
  // are dropped, except those that others refer to by number: they are written again before newer
  // ones.
  void write(Recorder& recorder, bool are_referred_to = false) {
    if (rows_.empty())
      return;
    constexpr auto kColumns = Row::columns();
    MappedVector<int64_t> values(kColumns.size() * rows_.size());
    std::array<ColumnView, kColumns.size()> views;
    for (size_t i = 0; i < kColumns.size(); ++i) {
      int64_t* to = values.data() + i * rows_.size();
      kColumns[i].copy(rows_, to);
      views[i] = {kColumns[i].name, {to, rows_.size()}};
    }
    if (recorder.add_rows(Row::kTable, views) || !are_referred_to)
      rows_.clear();
  }

 private:
  static constexpr size_t kBlockRows = 65'536;  // 7 MB of the widest; a reader takes 262,144

  MappedVector<Row> rows_;
};

}  // namespace perfprobe
