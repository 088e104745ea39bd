// Encodes operator records (rows) as a block of the `operators` table (columns).
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
  // Encodes one block: rows of one thread in the order in which they ended. The payload is in
  // `encoder`.
  void encode(std::span<const OperatorRecord> rows, int32_t thread, const TickConverter& clock,
              BlockEncoder& encoder);

  // In the order of a block.
  static constexpr std::array<std::string_view, 3> kOwnColumns = {"start_ns", "end_ns", "thread"};

 private:
  // A column whose values are all the same so far stores no other values yet.
  struct Column {
    int64_t constant = 0;
    bool varies = false;
    std::vector<int64_t> values;
  };

  void begin(std::span<const OperatorRecord> rows);
  // Gathers `count` rows from row `first` on.
  void gather(std::span<const OperatorRecord> rows, size_t first, size_t count);

  std::vector<int64_t> start_ns_;
  std::vector<int64_t> end_ns_;
  std::array<Column, OperatorRecord::columns().size()> columns_;  // the columns of the record
};

}  // namespace perfprobe
