// Encodes one block of the recording file: a table's rows as coded columns.
// perfprobe/tables/storage.py describes the format; nothing else knows it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace perfprobe {

enum class Coding : uint8_t {
  constant = 0,
  plain = 1,
  delta = 2,
  runs = 3,
  text = 4,
  relative = 5
};

class BlockEncoder {
 public:
  // Starts a new block and discards the previous one.
  void begin(std::string_view table, size_t rows, size_t columns);

  void add_constant(std::string_view column, int64_t value);
  // Encodes as constant, runs or plain values, whichever is smallest.
  void add_ids(std::string_view column, std::span<const int64_t> values);
  void add_delta(std::string_view column, std::span<const int64_t> values);
  // Encodes the difference to column number `base_index` of this block, whose values are `base`.
  void add_relative(std::string_view column, std::span<const int64_t> values, size_t base_index,
                    std::span<const int64_t> base);
  void add_text(std::string_view column, std::span<const std::string_view> values);

  // The payload so far.
  [[nodiscard]] const std::vector<uint8_t>& payload() const { return payload_; }

 private:
  void put_varint(uint64_t value);
  void put_text(std::string_view text);
  void put_column(std::string_view column, Coding coding);

  std::vector<uint8_t> payload_;
  std::vector<uint8_t> scratch_;  // the column being encoded, because its length is written first
};

}  // namespace perfprobe
