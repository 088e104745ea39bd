#include "cpu/peak/elements.h"

#include <algorithm>
#include <cstring>

namespace perfprobe {

namespace {

std::string nothing_missing() {
  return "";
}

#if defined(__x86_64__)

std::string missing_avx2() {
  __builtin_cpu_init();
  const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has ? "" : "the processor has no avx2 with fma";
}

std::string missing_avx512() {
  __builtin_cpu_init();
  const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") && missing_avx2().empty();
  return has ? "" : "the processor has no avx512f with avx512vl and avx512dq";
}

#endif

void add(std::vector<ElementKernel>& all, const char* instructions, std::string (*missing)(),
         const peak::ElementLoop (&loops)[peak::kElementLoops]) {
  for (const peak::ElementLoop& loop : loops) {
    const std::string name = std::string(loop.kind) + " " + loop.dtype + " " + instructions;
    all.push_back({name, loop.kind, loop.dtype, instructions, missing, loop.run});
  }
}

// Prefetches the first lines of a run this many runs ahead. The processor itself looks ahead a few
// hundred instructions, which is one long run.
constexpr int64_t kAhead = 8;
constexpr int64_t kAheadBytes = 512;
constexpr int64_t kLine = 64;

template <class Item>
void gather_items(const char* table, const int64_t* places, int64_t count, char* out) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * static_cast<int64_t>(sizeof(Item)), table + places[i], sizeof(Item));
}

void gather_long(const char* table, const int64_t* places, int64_t count, int64_t run_bytes,
                 char* out) {
  const int64_t asked = std::min(run_bytes, kAheadBytes);
  for (int64_t i = 0; i < count; ++i) {
    const char* later = table + places[std::min(i + kAhead, count - 1)];
    for (int64_t at = 0; at < asked; at += kLine)
      __builtin_prefetch(later + at);
    std::memcpy(out + i * run_bytes, table + places[i], static_cast<size_t>(run_bytes));
  }
}

}  // namespace

const std::vector<ElementKernel>& element_kernels() {
  static const std::vector<ElementKernel> kernels = [] {
    std::vector<ElementKernel> all;
#if defined(__x86_64__)
    add(all, "avx512", missing_avx512, peak::kAvx512Loops);
    add(all, "avx2", missing_avx2, peak::kAvx2Loops);
#endif
    add(all, "plain", nothing_missing, peak::kPlainLoops);
    return all;
  }();
  return kernels;
}

void gather_runs(const char* table, const int64_t* places, int64_t count, int64_t run_bytes,
                 char* out) {
  switch (run_bytes) {
    case 1:
      return gather_items<uint8_t>(table, places, count, out);
    case 2:
      return gather_items<uint16_t>(table, places, count, out);
    case 4:
      return gather_items<uint32_t>(table, places, count, out);
    case 8:
      return gather_items<uint64_t>(table, places, count, out);
    default:
      return gather_long(table, places, count, run_bytes, out);
  }
}

}  // namespace perfprobe
