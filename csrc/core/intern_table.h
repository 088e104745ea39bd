// Maps 128-bit identities to ids. Each thread has its own tables, so a look-up takes no lock.
#pragma once

#include <cstdint>

#include "core/hash.h"
#include "core/mapped_memory.h"

namespace perfprobe {

class InternTable {
 public:
  static constexpr int32_t kAbsent = -2;  // -1 is a valid id that means "none"

  [[nodiscard]] int32_t find(Hash128 hash) const {
    if (slots_.empty())
      return kAbsent;
    for (size_t i = hash.low & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.id == kAbsent || slot.hash == hash)
        return slot.id;
    }
  }

  void insert(Hash128 hash, int32_t id) {
    if (2 * (size_ + 1) > slots_.size())
      grow();
    place(hash, id);
    ++size_;
  }

  [[nodiscard]] size_t size() const { return size_; }

  void clear() {
    slots_.clear();
    size_ = 0;
  }

 private:
  struct Slot {
    Hash128 hash;
    int32_t id = kAbsent;
  };

  void place(Hash128 hash, int32_t id) {
    size_t i = hash.low & mask_;
    while (slots_[i].id != kAbsent)
      i = (i + 1) & mask_;
    slots_[i] = {hash, id};
  }

  void grow() {
    MappedVector<Slot> old(slots_.empty() ? 256 : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id != kAbsent)
        place(slot.hash, slot.id);
    }
  }

  MappedVector<Slot> slots_;
  size_t mask_ = 0;
  size_t size_ = 0;
};

}  // namespace perfprobe
