#include "read/varints.h"

namespace perfprobe {
namespace {

constexpr uint8_t kGoesOn = 0x80;
constexpr uint8_t kOwnBits = 0x7F;
constexpr unsigned kBitsAByte = 7;
constexpr unsigned kBits = 70;  // of the ten bytes that 64 bits take

uint64_t signed_of(uint64_t value) {
  return (value >> 1) ^ (~(value & 1) + 1);
}

}  // namespace

size_t count_varints(const uint8_t* data, size_t size_bytes) {
  size_t count = 0;
  for (size_t at = 0; at < size_bytes; ++at)
    count += data[at] < kGoesOn ? 1 : 0;
  return count;
}

VarintFault decode_varints(const uint8_t* data, size_t size_bytes, bool zigzag, uint64_t* out) {
  if (size_bytes > 0 && data[size_bytes - 1] >= kGoesOn)
    return VarintFault::cut;
  for (const uint8_t* const end = data + size_bytes; data < end;) {
    uint64_t value = *data & kOwnBits;
    for (unsigned shift = kBitsAByte; *data++ >= kGoesOn; shift += kBitsAByte) {
      if (shift >= kBits)
        return VarintFault::too_long;
      value |= static_cast<uint64_t>(*data & kOwnBits) << shift;
    }
    *out++ = zigzag ? signed_of(value) : value;
  }
  return VarintFault::none;
}

}  // namespace perfprobe
