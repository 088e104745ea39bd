// Buffers between a recording thread and the writer: chunks of mapped memory, one per thread at a
// time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/records.h"

namespace perfprobe {

// The owning thread appends rows and publishes them by `count`. The writer may read published rows
// at any time, so an unfinished chunk is written to disk too.
enum class RowKind : int32_t { operators, memory };

struct Chunk {
  static constexpr size_t kBytes = size_t{256} << 10;

  std::atomic<uint32_t> count;  // published rows; stored by the owner (release)
  uint32_t flushed;             // rows already written; guarded by the recorder's file lock
  int32_t thread;               // row of the threads table
  RowKind kind;
  OperatorRecord rows[1];  // really kCapacity rows: the chunk is a piece of mapped memory

  // The chunk's memory as rows of `memory`, if it holds these.
  [[nodiscard]] MemoryRecord* memory_rows() { return reinterpret_cast<MemoryRecord*>(rows); }
  [[nodiscard]] const MemoryRecord* memory_rows() const {
    return reinterpret_cast<const MemoryRecord*>(rows);
  }

  static const uint32_t kCapacity;
  static const uint32_t kMemoryCapacity;
};

inline constexpr uint32_t Chunk::kCapacity =
    static_cast<uint32_t>((Chunk::kBytes - offsetof(Chunk, rows)) / sizeof(OperatorRecord));
inline constexpr uint32_t Chunk::kMemoryCapacity =
    static_cast<uint32_t>((Chunk::kBytes - offsetof(Chunk, rows)) / sizeof(MemoryRecord));

// Hands out chunks. Not thread-safe: the owner locks.
class ChunkPool {
 public:
  explicit ChunkPool(size_t buffer_bytes);

  // Returns a chunk within the limit; nullptr if all are in use.
  Chunk* take();
  // Returns a chunk beyond the limit, for more threads than the buffer has chunks; nullptr if the
  // kernel has no memory.
  Chunk* grow();
  // Maps a chunk outside any pool; nullptr without memory.
  static Chunk* map_chunk();
  void give_back(Chunk* chunk) { free_.push_back(chunk); }

  // No chunk is taken any more. Returns the pages of unused chunks to the kernel, and, once all are
  // unused, all memory.
  void discard_free();

  [[nodiscard]] size_t capacity() const { return capacity_; }

 private:
  size_t capacity_;
  size_t mapped_ = 0;  // chunks of the region that were handed out
  size_t grown_ = 0;   // chunks beyond the region
  char* region_;
  std::vector<Chunk*> free_;  // last in, first out: a short run touches few pages
};

}  // namespace perfprobe
