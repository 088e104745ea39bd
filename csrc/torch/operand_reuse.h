// Measures how long ago the program last touched the operands of each operator, in bytes touched
// since.
//
// A storage is identified by the address of its data. A freed and reused address counts as the same
// storage, because the allocator returns memory that is as warm as its last use left it. The data
// itself is never read.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include <ATen/record_function.h>

#include "core/mapped_memory.h"

namespace perfprobe {

// Whether an operator touches the data of its tensors, by its schema. A view does not.
[[nodiscard]] bool touches_operands(const at::RecordFunction& function);

// A tensor of an operator; 0 bytes if it is not dense in CPU memory.
struct Touched {
  const c10::TensorImpl* tensor;  // alive while the operator starts
  const void* storage;
  uint64_t bytes;
};

// The tensors of a thread's open operators, by depth. Only used by that thread.
class OpenOperands {
 public:
  struct Level {
    size_t first = 0, end = 0;  // of `tensors`
    uint64_t touches_before = 0;
    int32_t signature = -1;
    bool touches = false;
  };

  // Entries from this depth on belong to operators that have ended.
  Level& open(size_t depth);
  Level& at(size_t depth) { return levels_[depth]; }
  void add(const c10::IValue& value);

  MappedVector<Touched> tensors;

 private:
  static constexpr size_t kMostTensors = 65'536;  // of all open operators of a thread
  MappedVector<Level> levels_;
};

// For all threads. For caches of several sizes it counts the bytes that were not in the cache. An
// operand is in a cache if it fits in together with all bytes counted since its last touch.
class OperandReuse {
 public:
  static constexpr size_t kOperands =
      16;  // per operator, lists flattened; further operands are ignored
  static constexpr size_t kCaches = 6;  // of 64 KiB, 256 KiB, 1 MiB, ... 64 MiB
  static constexpr size_t kBuckets =
      kCaches + 2;  // the cache sizes; no cache; never touched before
  static constexpr size_t kResult =
      kOperands;  // the row of the first result, before the operator writes it
  static constexpr uint64_t kSmallestCache = 64 << 10;
  static constexpr size_t kSignatures = 16'384;  // further signatures are ignored

  // A row for each bucket of an operand that has calls.
  struct Rows {
    std::vector<int64_t> signature, operand, same_as, bucket, calls, back_bytes;
  };

  void clear();
  // Called before an operator runs. std::bad_alloc leaves everything unchanged.
  void begin(OpenOperands& operands, size_t depth, bool touches, int32_t signature,
             c10::ArrayRef<const c10::IValue> inputs);
  // Called when it has ended: it touched the tensors that no inner operator touched.
  void end(OpenOperands& operands, size_t depth, c10::ArrayRef<c10::IValue> outputs) noexcept;
  [[nodiscard]] Rows rows();
  // In a child, a thread that no longer exists may have held the lock.
  void forget_in_child() { new (&mutex_) std::mutex(); }

 private:
  static constexpr size_t kSlots = size_t{1} << 17;
  static constexpr size_t kProbes = 8;

  struct Slot {
    const void* storage = nullptr;
    uint64_t touch = 0;                      // the number of its last touch
    std::array<uint64_t, kCaches> missed{};  // bytes that each cache had missed at that time
  };
  struct Operand {
    std::array<uint32_t, kBuckets> calls{};
    std::array<float, kBuckets> back_bytes{};  // the mean
    uint32_t same_calls = 0;                   // calls in which it was also an earlier operand
    int32_t same_as = -1;
  };

  [[nodiscard]] Slot& slot_of(const void* storage);
  static constexpr uint64_t size_of(size_t cache) { return kSmallestCache << 2 * cache; }
  [[nodiscard]] uint64_t missed_since(const Slot& slot, size_t cache) const {
    return missed_[cache] - slot.missed[cache];
  }
  [[nodiscard]] bool lies_in(const Slot& slot, size_t cache, uint64_t bytes) const {
    return missed_since(slot, cache) + bytes <= size_of(cache);
  }
  void count(Operand& operand, const Touched& tensor);
  void count(int32_t signature, const Touched* tensors, size_t count);
  void count_result(const OpenOperands& operands, const OpenOperands::Level& level);
  void touch(const Touched& tensor, uint64_t touches_before);

  std::mutex mutex_;
  // If full, the slot touched longest ago is replaced.
  Slot* const slots_ = static_cast<Slot*>(map_bytes(kSlots * sizeof(Slot)));
  std::array<uint64_t, kCaches> missed_{};
  uint64_t touches_ = 0;
  MappedVector<std::array<Operand, kOperands + 1>> signatures_;
};

}  // namespace perfprobe
