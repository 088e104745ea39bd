// Buffers between a recording thread and the writer: chunks of mapped memory, one per thread at a
// time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/records.h"

namespace perfprobe {

// The owning thread appends rows and publishes them by `count`; the writer may read published rows
// at any time, so an unfinished chunk reaches the disk too.
struct Chunk {
  static constexpr size_t kBytes = size_t{256} << 10;

  std::atomic<uint32_t> count;  // published rows; stored by the owner (release)
  uint32_t flushed;             // rows already written; only touched under the recorder's file lock
  int32_t thread;               // row of the threads table
  int32_t reserved;
  OperatorRecord rows[1];  // really kCapacity rows: the chunk is a piece of mapped memory

  static const uint32_t kCapacity;
};

inline constexpr uint32_t Chunk::kCapacity =
    static_cast<uint32_t>((Chunk::kBytes - offsetof(Chunk, rows)) / sizeof(OperatorRecord));

// Hands out chunks. Not thread-safe: its owner locks.
class ChunkPool {
 public:
  explicit ChunkPool(size_t buffer_bytes);

  // A chunk within the bound, or nullptr when all are in use.
  Chunk* take();
  // One chunk beyond the bound (more threads record at once than the buffer has chunks), or nullptr
  // when the kernel has no memory.
  Chunk* grow();
  // A chunk of no pool, or nullptr.
  static Chunk* map_chunk();
  void give_back(Chunk* chunk) { free_.push_back(chunk); }

  // Nothing is taken any more: gives the pages of chunks that are not in use back to the kernel,
  // and once none is, all there are.
  void discard_free();

  [[nodiscard]] size_t capacity() const { return capacity_; }

 private:
  size_t capacity_;
  size_t mapped_ = 0;  // chunks of the region that were handed out,
  size_t grown_ = 0;   // and chunks beyond it
  char* region_;
  std::vector<Chunk*> free_;  // last in, first out: a short run touches few pages
};

}  // namespace perfprobe
