// Sums and differences of addresses that may be anything: memory that is read while it changes, or
// was freed, holds small negative numbers too, and a plain sum of such a one and a size wraps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace perfprobe {

inline uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

// The highest address there is, where the sum would be beyond it.
inline uintptr_t above(uintptr_t address, size_t bytes) {
  constexpr uintptr_t kHighest = std::numeric_limits<uintptr_t>::max();
  return bytes > kHighest - address ? kHighest : address + bytes;
}

// 0 where the difference would be below it.
inline uintptr_t below(uintptr_t address, size_t bytes) {
  return bytes > address ? 0 : address - bytes;
}

// The place of a part of what `start` points at, which may be nothing: only to be read through a
// copy.
inline const void* part_of(const void* start, size_t offset) {
  return reinterpret_cast<const void*>(above(address_of(start), offset));
}

struct AddressRange {
  uintptr_t start = 0;
  size_t bytes = 0;

  // Whether `count` bytes from `address` on lie in it.
  [[nodiscard]] bool holds(uintptr_t address, size_t count) const {
    return address >= start && address - start <= bytes && count <= bytes - (address - start);
  }
};

}  // namespace perfprobe
