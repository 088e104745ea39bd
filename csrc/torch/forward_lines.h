// The user lines of the latest forward calls, by the number of the autograd node that they made.
//
// Torch numbers the nodes of each thread. An operator carries the number of the next node to be
// made, so of several operators with one number the last one to start made the node. A number that
// no operator carried belongs to the operator with the next lower number, because an operator may
// make several nodes.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/mapped_memory.h"
#include "core/records.h"

namespace perfprobe {

// A ring: entries older than `kPlaces` numbers are overwritten. Any thread may use it; an entry is
// one word.
class ForwardLines {
 public:
  static constexpr uint64_t kPlaces = 65'536;
  static constexpr int32_t kMostLines = 65'534;  // all further lines count as none

  void note(int32_t thread, int64_t sequence, int32_t line) {
    const bool known = line >= 0 && line < kMostLines;
    const uint64_t stored = known ? static_cast<uint64_t>(line) + 2 : kCallWithoutLine;
    place(thread, sequence).store(stored << 48 | key(thread, sequence), std::memory_order_relaxed);
  }

  // `reach`: how many lower numbers may be used instead of this one. Returns kNone without a line.
  [[nodiscard]] int32_t find(int32_t thread, int64_t sequence, int64_t reach) const {
    for (int64_t number = sequence; number >= 0 && number >= sequence - reach; --number) {
      const uint64_t word = place(thread, number).load(std::memory_order_relaxed);
      if (word >> 48 != 0 && (word & kKeyMask) == key(thread, number))
        return static_cast<int32_t>(word >> 48) - 2;
    }
    return kNone;
  }

 private:
  static constexpr uint64_t kCallWithoutLine = 1;  // 0: nothing was ever stored in this place
  static constexpr uint64_t kKeyMask = (uint64_t{1} << 48) - 1;

  static uint64_t key(int32_t thread, int64_t sequence) {
    return static_cast<uint64_t>(static_cast<uint16_t>(thread)) << 32 |
           static_cast<uint64_t>(static_cast<uint32_t>(sequence));
  }
  [[nodiscard]] std::atomic<uint64_t>& place(int32_t thread, int64_t sequence) const {
    const uint64_t mixed = static_cast<uint64_t>(sequence) + static_cast<uint64_t>(thread) * 0x9E37;
    return places_[mixed % kPlaces];
  }

  std::atomic<uint64_t>* const places_ =
      static_cast<std::atomic<uint64_t>*>(map_bytes(kPlaces * sizeof(std::atomic<uint64_t>)));
};

}  // namespace perfprobe
