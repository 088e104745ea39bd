#include "core/checksum.h"

#include <array>
#include <cstring>

namespace perfprobe {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
    tables[0][byte] = value;
  }
  for (size_t slice = 1; slice < 8; ++slice) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t step8(uint32_t crc, const uint8_t* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));  // little-endian host: x86-64 only
  word ^= crc;
  uint32_t next = 0;
  for (size_t i = 0; i < 8; ++i)
    next ^= kTables[7 - i][(word >> (8 * i)) & 0xFF];
  return next;
}

}  // namespace

uint32_t crc32(const uint8_t* bytes, size_t count) {
  uint32_t crc = 0xFFFFFFFFU;
  for (; count >= 8; count -= 8, bytes += 8)
    crc = step8(crc, bytes);
  for (; count > 0; --count, ++bytes)
    crc = (crc >> 8) ^ kTables[0][(crc ^ *bytes) & 0xFF];
  return ~crc;
}

}  // namespace perfprobe
