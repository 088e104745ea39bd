#include "core/held_rows.h"

#include <utility>

namespace perfprobe {

void HeldRows::decide(Fate fate, std::span<Chunk* const> active) {
  for (Chunk* chunk : full_) {
    const uint32_t count = chunk->count.load(std::memory_order_acquire);
    add({chunk, decided(chunk), count, fate, true});
    decided_.erase(chunk);
  }
  full_.clear();
  for (Chunk* chunk : active) {
    const uint32_t count = chunk->count.load(std::memory_order_acquire);
    uint32_t& known = decided(chunk);
    if (count > known)
      add({chunk, known, count, fate, false});
    known = count;
  }
}

// Consecutive short steps with the same fate become one part.
void HeldRows::add(const HeldPart& part) {
  constexpr size_t kNear = 8;
  ready_ += part.is_last ? 1 : 0;
  for (size_t i = parts_.size(); i > 0 && i + kNear > parts_.size(); --i) {
    HeldPart& before = parts_[i - 1];
    if (before.chunk != part.chunk)
      continue;
    if (before.fate != part.fate || before.to != part.from)
      break;
    before.to = part.to;
    before.is_last = part.is_last;
    return;
  }
  parts_.push_back(part);
}

bool HeldRows::take_gave_up() {
  return std::exchange(gave_up_, false);
}

std::vector<HeldPart> HeldRows::take() {
  ready_ = 0;
  return std::exchange(parts_, {});
}

}  // namespace perfprobe
