// Encodes memory records (rows) as a block of the `memory` table (columns).
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

class MemoryEncoder {
 public:
  // Encodes rows of one thread, ordered by time, as one block. The payload is in `encoder`.
  void encode(std::span<const MemoryRecord> rows, int32_t thread, const TickConverter& clock,
              BlockEncoder& encoder);

  // Columns that a block has before those of `MemoryRecord`.
  static constexpr std::array<std::string_view, 2> kOwnColumns = {"time_ns", "thread"};

 private:
  std::vector<int64_t> values_;
};

}  // namespace perfprobe
