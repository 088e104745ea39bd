// Adds and subtracts addresses without overflow. Memory that changes while it is read, or was
// freed, may hold any value, small negative numbers too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace perfprobe {

inline uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

// Returns the sum, at most the highest address.
inline uintptr_t above(uintptr_t address, size_t bytes) {
  constexpr uintptr_t kHighest = std::numeric_limits<uintptr_t>::max();
  return bytes > kHighest - address ? kHighest : address + bytes;
}

// Returns the difference, at least 0.
inline uintptr_t below(uintptr_t address, size_t bytes) {
  return bytes > address ? 0 : address - bytes;
}

// Returns the address of a member of what `start` points at. The memory may be invalid: read it
// only through a copy.
inline const void* part_of(const void* start, size_t offset) {
  return reinterpret_cast<const void*>(above(address_of(start), offset));
}

struct AddressRange {
  uintptr_t start = 0;
  size_t bytes = 0;

  // Whether `count` bytes from `address` on lie in the range.
  [[nodiscard]] bool holds(uintptr_t address, size_t count) const {
    return address >= start && address - start <= bytes && count <= bytes - (address - start);
  }
};

}  // namespace perfprobe
