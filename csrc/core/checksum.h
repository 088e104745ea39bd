// CRC-32 as zlib computes it (reflected polynomial 0xEDB88320), so that any reader can check a
// block with its own zlib: 64 bytes a step by carry-less multiplication (Gopal et al., "Fast CRC
// Computation for Generic Polynomials Using PCLMULQDQ", 2009) where the processor has it, else and
// for the rest eight ("slicing by 8": Kounavis and Berry, 2005).
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfprobe {

uint32_t crc32(const uint8_t* bytes, size_t count);

}  // namespace perfprobe
