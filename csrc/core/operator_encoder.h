// From operator records (rows) to the `operators` table's block (columns).
#pragma once

#include <array>
#include <cstdint>
#include <span>
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

 private:
  static constexpr size_t kColumns = 14;  // all but `thread`, which is one value
  using Column = std::vector<int64_t>;

  void gather(std::span<const OperatorRecord> rows, size_t first, const TickConverter& clock);

  std::array<Column, kColumns> columns_;
};

}  // namespace perfprobe
