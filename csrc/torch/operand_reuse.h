// How long ago the program last touched the operands of each operator, in bytes touched since.
//
// A storage is known by where its data begins. A freed and reused address counts as the storage
// that was there: the allocator gives back memory that is as warm as that one left it. Nothing is
// read of the data.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include <ATen/record_function.h>

#include "core/mapped_memory.h"

namespace perfprobe {

// Whether an operator touches the data of its tensors, by its schema: a view does not.
[[nodiscard]] bool touches_operands(const at::RecordFunction& function);

// A tensor of an operator; of no bytes where it is not dense in the memory of the CPU.
struct Touched {
  const c10::TensorImpl* tensor;  // alive while the operator starts
  const void* storage;
  uint64_t bytes;
};

// The tensors of the operators open on a thread, by depth. Touched by that thread alone.
class OpenOperands {
 public:
  struct Level {
    size_t first = 0, end = 0;  // of `tensors`
    uint64_t touches_before = 0;
    int32_t signature = -1;
    bool touches = false;
  };

  // What was there from this depth on belongs to operators that have ended.
  Level& open(size_t depth);
  Level& at(size_t depth) { return levels_[depth]; }
  void add(const c10::IValue& value);

  MappedVector<Touched> tensors;

 private:
  static constexpr size_t kMostTensors = 65'536;  // of all open operators
  MappedVector<Level> levels_;
};

// All threads. For each of some sizes of caches, the bytes that did not lie in one of that size are
// counted; an operand lies in it while it fits in together with what was counted since its last
// touch.
class OperandReuse {
 public:
  static constexpr size_t kOperands = 16;  // of an operator, lists flattened; of later ones nothing
  static constexpr size_t kCaches = 6;     // of 64 KiB, 256 KiB, 1 MiB, ... 64 MiB
  static constexpr size_t kBuckets = kCaches + 2;  // the smallest cache; none; never touched before
  static constexpr size_t kResult = kOperands;     // the row of what it makes, before it does
  static constexpr uint64_t kSmallestCache = 64 << 10;
  static constexpr size_t kSignatures = 16'384;  // of later ones nothing

  // A row for each bucket of an operand that is not empty.
  struct Rows {
    std::vector<int64_t> signature, operand, same_as, bucket, calls, back_bytes;
  };

  void clear();
  // Before an operator runs; std::bad_alloc leaves all as it was.
  void begin(OpenOperands& operands, size_t depth, bool touches, int32_t signature,
             c10::ArrayRef<const c10::IValue> inputs);
  // When it has ended: it touched what none of those it called touched.
  void end(OpenOperands& operands, size_t depth, c10::ArrayRef<c10::IValue> outputs) noexcept;
  [[nodiscard]] Rows rows();
  // A thread that is no more may have held the lock.
  void forget_in_child() { new (&mutex_) std::mutex(); }

 private:
  static constexpr size_t kSlots = size_t{1} << 17;
  static constexpr size_t kProbes = 8;

  struct Slot {
    const void* storage = nullptr;
    uint64_t touch = 0;                      // the number of its last touch
    std::array<uint64_t, kCaches> missed{};  // what each cache had missed by then
  };
  struct Operand {
    std::array<uint32_t, kBuckets> calls{};
    std::array<float, kBuckets> back_bytes{};  // the mean
    uint32_t same_calls = 0;                   // in which it was also an earlier operand
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
  // When full, the one that was touched longest ago makes room.
  Slot* const slots_ = static_cast<Slot*>(map_bytes(kSlots * sizeof(Slot)));
  std::array<uint64_t, kCaches> missed_{};
  uint64_t touches_ = 0;
  MappedVector<std::array<Operand, kOperands + 1>> signatures_;
};

}  // namespace perfprobe
