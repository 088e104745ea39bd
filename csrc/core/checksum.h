// CRC-32 as zlib computes it (reflected polynomial 0xEDB88320), eight bytes a step ("slicing by 8":
// Kounavis and Berry, 2005), so that any reader can check a block with its own zlib.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfprobe {

uint32_t crc32(const uint8_t* bytes, size_t count);

}  // namespace perfprobe
