// From operator records (rows) to the `operators` table's block (columns).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/block_encoder.h"
#include "core/clock.h"
#include "core/records.h"

namespace perfprobe {

class OperatorEncoder {
 public:
  // One block: rows of one thread in the order they ended. The payload is left in `encoder`.
  void encode(std::span<const OperatorRecord> rows, int32_t thread, const TickConverter& clock,
              BlockEncoder& encoder);

  // In the order in which they stand in a block.
  static constexpr std::array<std::string_view, 3> kOwnColumns = {"start_ns", "end_ns", "thread"};

 private:
  // A column that has held one value so far has no other values yet.
  struct Column {
    int64_t constant = 0;
    bool varies = false;
    std::vector<int64_t> values;
  };

  void begin(std::span<const OperatorRecord> rows);
  // Rows `first` and those behind it, of so many in all.
  void gather(std::span<const OperatorRecord> rows, size_t first, size_t count);

  std::vector<int64_t> start_ns_;
  std::vector<int64_t> end_ns_;
  std::array<Column, OperatorRecord::columns().size()> columns_;  // those of the record
};

}  // namespace perfprobe
