#include "python/code_locations.h"

namespace perfprobe {
namespace {

constexpr int32_t kNoLine = -1;
constexpr int32_t kUnitBytes = 2;
constexpr uint8_t kEntryStart = 0x80;

// Kinds of entries. Those below kOneLine only have columns.
constexpr int kOneLine = 10;  // and the two after it: that many lines on
constexpr int kNoColumns = 13;
constexpr int kLong = 14;
constexpr int kNoLocation = 15;

// Six bits a byte, the least significant first; the lowest bit is the sign.
int32_t signed_varint(std::span<const uint8_t> table, size_t place) {
  constexpr uint8_t kMore = 0x40;
  constexpr int kMostBits = 30;
  uint32_t value = 0;
  int shift = 0;
  while (place < table.size() && shift <= kMostBits) {
    const uint8_t byte = table[place++];
    value |= static_cast<uint32_t>(byte & 0x3F) << shift;
    if ((byte & kMore) == 0)
      break;
    shift += 6;
  }
  const auto magnitude = static_cast<int32_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

int32_t line_delta(std::span<const uint8_t> table, size_t entry, int kind) {
  if (kind == kLong || kind == kNoColumns)
    return signed_varint(table, entry + 1);
  return kind >= kOneLine && kind < kNoColumns ? kind - kOneLine : 0;
}

}  // namespace

int32_t line_of_instruction(std::span<const uint8_t> table, int32_t first_line, int32_t offset) {
  int64_t line = first_line;
  int32_t end = 0;
  for (size_t entry = 0; entry < table.size();) {
    const int kind = (table[entry] >> 3) & 15;
    line += line_delta(table, entry, kind);
    end += ((table[entry] & 7) + 1) * kUnitBytes;
    if (offset < end)
      return kind == kNoLocation ? kNoLine : static_cast<int32_t>(line);
    do
      ++entry;
    while (entry < table.size() && (table[entry] & kEntryStart) == 0);
  }
  return kNoLine;
}

}  // namespace perfprobe
