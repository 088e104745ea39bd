#include "core/event_buffer.h"

#include <algorithm>

#include "core/mapped_memory.h"

namespace perfprobe {

ChunkPool::ChunkPool(size_t buffer_bytes)
    : capacity_(std::max<size_t>(buffer_bytes / Chunk::kBytes, 2)),
      region_(static_cast<char*>(map_bytes(capacity_ * Chunk::kBytes))) {
  free_.reserve(capacity_);
  // One page fault for 2 MB instead of 512. A fault costs as much as several events.
  madvise(region_, capacity_ * Chunk::kBytes, MADV_HUGEPAGE);
}

Chunk* ChunkPool::take() {
  if (!free_.empty()) {
    Chunk* chunk = free_.back();
    free_.pop_back();
    return chunk;
  }
  if (mapped_ == capacity_)
    return nullptr;
  return reinterpret_cast<Chunk*>(region_ + Chunk::kBytes * mapped_++);
}

Chunk* ChunkPool::grow() {
  Chunk* chunk = map_chunk();
  grown_ += chunk != nullptr ? 1 : 0;
  return chunk;
}

Chunk* ChunkPool::map_chunk() {
  try {
    return static_cast<Chunk*>(map_bytes(Chunk::kBytes));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The rest of the last huge page comes after the chunks that were handed out.
void ChunkPool::discard_free() {
  munmap(region_ + Chunk::kBytes * mapped_, Chunk::kBytes * (capacity_ - mapped_));
  capacity_ = mapped_;
  const bool are_all_free = free_.size() == mapped_ + grown_;
  for (Chunk* chunk : free_) {
    if (are_all_free)
      munmap(chunk, Chunk::kBytes);
    else
      madvise(chunk, Chunk::kBytes, MADV_DONTNEED);
  }
  if (are_all_free) {
    free_ = {};
    capacity_ = mapped_ = grown_ = 0;
  }
}

}  // namespace perfprobe
