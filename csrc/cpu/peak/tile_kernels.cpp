// AMX: products of tiles of 16 x 64 bytes. A process must ask the kernel for the 8 KiB of tile
// registers.
#include "cpu/peak/peak.h"

#if defined(__x86_64__)

#include <cerrno>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include <cpuid.h>
#include <immintrin.h>

namespace perfprobe::peak {

namespace {

// CPUID leaf 7, EDX (Intel's manual, volume 2A). GCC and Clang name these differently.
constexpr unsigned kBf16Bit = 1U << 22;
constexpr unsigned kTileBit = 1U << 24;
constexpr unsigned kInt8Bit = 1U << 25;
// From arch/x86/include/uapi/asm/prctl.h; glibc has no wrapper.
constexpr int kRequestPermission = 0x1023;
constexpr int kTileData = 18;

constexpr int kRows = 16;
constexpr int kRowBytes = 64;
// Two of eight tiles hold the factors. A tile product takes 16 cycles; its sum is available after
// 52. Four sums hide that, and six leave some room.
constexpr int kSums = 6;
constexpr int kTiles = 8;

std::string missing_feature(unsigned bit, const char* name) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTileBit) == 0 || (d & bit) == 0)
    return std::string("the processor has no ") + name;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0)
    return std::string("the kernel does not grant this process AMX tiles: ") + std::strerror(errno);
  return "";
}

std::string missing_bf16() {
  return missing_feature(kBf16Bit, "amx-bf16");
}

std::string missing_int8() {
  return missing_feature(kInt8Bit, "amx-int8");
}

struct alignas(64) TileConfiguration {  // Intel's manual, volume 1, chapter 18
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  TileConfiguration() {
    for (int tile = 0; tile < kTiles; ++tile) {
      row_bytes[tile] = kRowBytes;
      rows[tile] = kRows;
    }
  }
};
static_assert(sizeof(TileConfiguration) == 64);

// GCC's tile intrinsics do not declare what memory they read. Without this the compiler may drop
// the stores to it.
inline void hide(const void* factors, const void* configuration) {
  __asm__ volatile("" : : "r"(factors), "r"(configuration) : "memory");
}

// Tile numbers must be immediates, so each is written out. The builtins are volatile: the compiler
// keeps all of them.
#define PERFPROBE_TILE_LOOP(function, isa, Factor, one, Lane, multiply)      \
  __attribute__((target("amx-tile," isa))) double function(int64_t rounds) { \
    alignas(64) Factor factors[kRows * kRowBytes / sizeof(Factor)];          \
    for (Factor& factor : factors)                                           \
      factor = one;                                                          \
    const TileConfiguration configuration;                                   \
    hide(factors, &configuration);                                           \
    _tile_loadconfig(&configuration);                                        \
    _tile_zero(0);                                                           \
    _tile_zero(1);                                                           \
    _tile_zero(2);                                                           \
    _tile_zero(3);                                                           \
    _tile_zero(4);                                                           \
    _tile_zero(5);                                                           \
    _tile_loadd(6, factors, kRowBytes);                                      \
    _tile_loadd(7, factors, kRowBytes);                                      \
    for (int64_t round = 0; round < rounds; ++round) {                       \
      multiply(0, 6, 7);                                                     \
      multiply(1, 6, 7);                                                     \
      multiply(2, 6, 7);                                                     \
      multiply(3, 6, 7);                                                     \
      multiply(4, 6, 7);                                                     \
      multiply(5, 6, 7);                                                     \
    }                                                                        \
    alignas(64) Lane lanes[kSums][kRows * kRowBytes / sizeof(Lane)];         \
    _tile_stored(0, lanes[0], kRowBytes);                                    \
    _tile_stored(1, lanes[1], kRowBytes);                                    \
    _tile_stored(2, lanes[2], kRowBytes);                                    \
    _tile_stored(3, lanes[3], kRowBytes);                                    \
    _tile_stored(4, lanes[4], kRowBytes);                                    \
    _tile_stored(5, lanes[5], kRowBytes);                                    \
    _tile_release();                                                         \
    double total = 0;                                                        \
    for (const auto& tile : lanes)                                           \
      for (const Lane lane : tile)                                           \
        total += static_cast<double>(lane);                                  \
    return total;                                                            \
  }

PERFPROBE_TILE_LOOP(bf16_amx, "amx-bf16", uint16_t, 0x3F80, float, _tile_dpbf16ps)
PERFPROBE_TILE_LOOP(i8_amx, "amx-int8", uint8_t, 1, int32_t, _tile_dpbusd)

// Each of the 16 x 16 sums adds the products of a row's 64 bytes.
constexpr int64_t kTileProducts = kRows * kRows * kRowBytes;

}  // namespace

std::vector<PeakKernel> tile_kernels() {
  return {
      {"bf16 amx", "bf16", "tdpbf16ps", kSums * kTileProducts / 2, missing_bf16, bf16_amx},
      {"i8 amx", "i8", "tdpbusd", kSums * kTileProducts, missing_int8, i8_amx},
  };
}

}  // namespace perfprobe::peak

#else

namespace perfprobe::peak {

std::vector<PeakKernel> tile_kernels() {
  return {};
}

}  // namespace perfprobe::peak

#endif
