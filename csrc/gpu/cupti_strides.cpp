#include "gpu/cupti_strides.h"

#include "gpu/cupti_records.h"

namespace perfprobe {
namespace {

// Room for two records of the longest kind and the kind of a third. The longest has 248 bytes in
// 13.4.
using Probe = std::array<uint32_t, 1024>;

// If the buffer has the kind at every place where a record may begin, the second record is found
// one stride after the first.
uint32_t stride_of(uint32_t kind, NextRecord next, Probe& probe) {
  probe.fill(kind);
  auto* bytes = reinterpret_cast<uint8_t*>(probe.data());
  void* record = nullptr;
  if (next(bytes, sizeof(Probe), &record) != cupti::kSuccess)
    return 0;
  const auto first = reinterpret_cast<uintptr_t>(record);
  if (next(bytes, sizeof(Probe), &record) != cupti::kSuccess)
    return 0;
  const auto stride = reinterpret_cast<uintptr_t>(record) - first;
  const bool is_sensible = stride > sizeof(kind) && stride <= sizeof(Probe) / 2;
  return is_sensible ? static_cast<uint32_t>(stride) : 0;
}

}  // namespace

Strides probe_strides(NextRecord next) {
  alignas(8) Probe probe;
  Strides strides;
  for (const uint32_t kind : cupti::kKinds)
    strides.bytes[kind] = stride_of(kind, next, probe);
  return strides;
}

}  // namespace perfprobe
