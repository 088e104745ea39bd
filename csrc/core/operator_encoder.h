// From operator records (rows) to the `operators` table's block (columns).
#pragma once

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
  std::vector<int64_t> start_;
  std::vector<int64_t> column_;
};

}  // namespace perfprobe
