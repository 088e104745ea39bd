// CRC-32 as zlib computes it (reflected polynomial 0xEDB88320), so that any reader can check a
// block with its own zlib. If the processor has carry-less multiplication, it handles 64 bytes a
// step (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009).
// Otherwise, and for the rest, it handles eight ("slicing by 8": Kounavis and Berry, 2005).
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfprobe {

uint32_t crc32(const uint8_t* bytes, size_t count);

}  // namespace perfprobe
