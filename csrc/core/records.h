// The records that collectors write while the program runs. Every record is a POD. Ticks become
// CLOCK_MONOTONIC nanoseconds when they are written; ids are rows of the recording's tables, -1 is
// none.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/row_column.h"

namespace perfprobe {

constexpr int32_t kNone = -1;

// One finished operator. A thread's rows are in the order in which the operators ended. `depth` is
// the number of operators open on the thread when it started. Both define the tree: the parent of a
// row is the next row with depth - 1.
struct OperatorRecord {
  int64_t start_ticks;  // see read_ticks
  int64_t end_ticks;
  int64_t cpu_ns;         // thread CPU time of an outermost operator; -1 not measured
  int64_t sequence;       // torch's autograd sequence number
  int64_t node_sequence;  // number of the backward node it runs in, or `node_of_module`
  int32_t name;
  int32_t overload;
  int32_t signature;
  int32_t stack;
  int32_t forward_thread;  // BACKWARD_FUNCTION rows: torch's id of the forward thread
  int32_t node_thread;     // forward thread of the backward node it runs in; 0: node not known
  int16_t depth;
  int16_t scope;        // at::RecordScope
  int32_t faults = -1;  // page faults of the thread that needed no disk; -1 not counted

  static constexpr std::string_view kTable = "operators";
  // Without start_ns and end_ns, which are ticks here, and thread, which is the same for a whole
  // block.
  static constexpr auto columns() {
    return std::array{
        column<&OperatorRecord::cpu_ns>("cpu_ns"),
        column<&OperatorRecord::depth>("depth"),
        column<&OperatorRecord::name>("name"),
        column<&OperatorRecord::overload>("overload"),
        column<&OperatorRecord::signature>("signature"),
        column<&OperatorRecord::stack>("stack"),
        column<&OperatorRecord::forward_thread>("forward_thread"),
        column<&OperatorRecord::scope>("scope"),
        column<&OperatorRecord::node_thread>("node_thread"),
        column<&OperatorRecord::faults>("faults"),
        column<&OperatorRecord::sequence>("sequence", Values::climbing),
        column<&OperatorRecord::node_sequence>("node_sequence", Values::climbing),
    };
  }
};
static_assert(sizeof(OperatorRecord) == 72);

// AccumulateGrad has no number: the module that holds its parameter takes the place of the number.
constexpr int64_t node_of_module(int32_t module) {
  return module == kNone ? kNone : int64_t{-2} - module;
}
static_assert(std::is_trivially_copyable_v<OperatorRecord>);

enum class MemoryEvent : int32_t { allocated = 0, freed = 1, parameter = 2, buffer = 3 };

// What happened to the memory of a tensor's storage. The rows of a thread are ordered by time.
struct MemoryRecord {
  // malloc aligns to 16 bytes or more, so shifted addresses of memory in use stay distinct.
  static constexpr int kAlignedBits = 4;

  int64_t ticks;       // of a free: just before it; of an allocation: just after it
  int64_t storage;     // its address, shifted by kAlignedBits
  int64_t size_bytes;  // as requested; kNone when freed
  int32_t stack;       // of an allocation outside of operators
  MemoryEvent event;

  static constexpr std::string_view kTable = "memory";
  // Without `time_ns`, which is in ticks here, and `thread`.
  static constexpr auto columns() {
    return std::array{
        column<&MemoryRecord::event>("event"),
        column<&MemoryRecord::storage>("storage", Values::climbing),
        column<&MemoryRecord::size_bytes>("size_bytes"),
        column<&MemoryRecord::stack>("stack"),
    };
  }
};
static_assert(sizeof(MemoryRecord) == 32);
static_assert(std::is_trivially_copyable_v<MemoryRecord>);

// One Python frame as the frame reader sees it. Nothing is resolved or owned.
struct FrameRef {
  const void* code;     // PyCodeObject
  int32_t instruction;  // byte offset of the last instruction, negative before the first
  const void*
      callable;  // the nn.Module whose call this frame is (PyObject), nullptr for all other frames
};
static_assert(std::is_trivially_copyable_v<FrameRef>);

// In the place of the outermost frames of a stack that is too deep.
constexpr FrameRef kCutFrames{nullptr, kNone, nullptr};

}  // namespace perfprobe
