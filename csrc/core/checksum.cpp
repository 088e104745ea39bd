#include "core/checksum.h"

#include <array>
#include <cstring>

#include <immintrin.h>

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

uint32_t by_tables(uint32_t crc, const uint8_t* bytes, size_t count) {
  for (; count >= 8; count -= 8, bytes += 8)
    crc = step8(crc, bytes);
  for (; count > 0; --count, ++bytes)
    crc = (crc >> 8) ^ kTables[0][(crc ^ *bytes) & 0xFF];
  return crc;
}

constexpr size_t kFolded = 64;  // bytes a step: four registers

[[gnu::target("pclmul,sse4.1")]] __m128i fold(__m128i value, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(value, by, 0x00);
  const __m128i high = _mm_clmulepi64_si128(value, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

[[gnu::target("pclmul,sse4.1")]] __m128i load(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// Folds whole steps into 16 bytes with the same remainder. The constants are x^n modulo the
// polynomial, reflected: n = 544 and 480 for a step, 160 and 96 from one register into the next.
// `count` is a multiple of kFolded and not 0.
[[gnu::target("pclmul,sse4.1")]] uint32_t by_folding(uint32_t crc, const uint8_t* bytes,
                                                     size_t count) {
  const __m128i step = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i next = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i parts[] = {load(bytes), load(bytes + 16), load(bytes + 32), load(bytes + 48)};
  parts[0] = _mm_xor_si128(parts[0], _mm_cvtsi32_si128(static_cast<int32_t>(crc)));
  for (size_t done = kFolded; done < count; done += kFolded) {
    for (size_t i = 0; i < 4; ++i)
      parts[i] = fold(parts[i], step, load(bytes + done + 16 * i));
  }
  for (size_t i = 1; i < 4; ++i)
    parts[i] = fold(parts[i - 1], next, parts[i]);
  uint8_t rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), parts[3]);
  return by_tables(0, rest, sizeof(rest));
}

bool can_fold() {
  return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

}  // namespace

uint32_t crc32(const uint8_t* bytes, size_t count) {
  static const bool folds = can_fold();
  uint32_t crc = 0xFFFFFFFFU;
  if (const size_t whole = count - count % kFolded; folds && whole > 0) {
    crc = by_folding(crc, bytes, whole);
    bytes += whole;
    count -= whole;
  }
  return ~by_tables(crc, bytes, count);
}

}  // namespace perfprobe
