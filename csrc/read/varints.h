// Decodes LEB128 integers of recordings, for perfprobe/tables/varints.py: a million in two
// milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfprobe {

enum class VarintFault { none, cut, too_long };

// Returns how many integers these bytes are; the last may be cut off.
size_t count_varints(const uint8_t* data, size_t size_bytes);

// Writes each integer to `out`, which has room for `count_varints`. zigzag: whether they are
// signed.
VarintFault decode_varints(const uint8_t* data, size_t size_bytes, bool zigzag, uint64_t* out);

}  // namespace perfprobe
