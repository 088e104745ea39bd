// Rows of one table on their way to the recording, a block's worth of them at most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/recorder.h"

namespace perfprobe {

template <class Row>
struct RowColumn {
  std::string_view name;
  int64_t Row::* field;
};

// `Row::kTable` is the table's name and `Row::columns()` an array of RowColumn<Row>.
template <class Row>
class RowTable {
 public:
  void add(const Row& row) { rows_.push_back(row); }
  [[nodiscard]] bool is_full() const { return rows_.size() >= kBlockRows; }

  // Rows that the disk refused are gone, but for those that others refer to by number: they come
  // again, before any newer one.
  void write(Recorder& recorder, bool are_referred_to = false) {
    if (rows_.empty())
      return;
    constexpr auto kColumns = Row::columns();
    MappedVector<int64_t> values(kColumns.size() * rows_.size());
    std::array<ColumnView, kColumns.size()> views;
    for (size_t i = 0; i < kColumns.size(); ++i) {
      const auto& [name, field] = kColumns[i];
      int64_t* to = values.data() + i * rows_.size();
      views[i] = {name, {to, rows_.size()}};
      for (const Row& row : rows_)
        *to++ = row.*field;
    }
    if (recorder.add_rows(Row::kTable, views) || !are_referred_to)
      rows_.clear();
  }

 private:
  static constexpr size_t kBlockRows = 65'536;  // 7 MB of the widest; a reader takes 262,144

  MappedVector<Row> rows_;
};

}  // namespace perfprobe
