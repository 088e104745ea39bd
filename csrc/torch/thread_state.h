// The observer's state for each thread that runs operators. Only that thread uses it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/record_function.h>
#include <Python.h>

#include "core/budget_port.h"
#include "core/intern_table.h"
#include "core/recorder_port.h"
#include "python/open_calls.h"
#include "torch/emitter.h"
#include "torch/operand_reuse.h"
#include "torch/own_time.h"
#include "torch/signature.h"

namespace perfprobe {

// An operator's name as last seen at an address. Names of backward nodes and user scopes end with
// the call, and their addresses are reused, so a hit compares the text. The overload needs no
// comparison: every overload's schema has its own name at its own address.
struct alignas(64) NameSlot {
  static constexpr size_t kHead = 3;

  const char* address = nullptr;
  uint64_t head[kHead] = {};   // the first bytes of the text, padded with 0
  const char* text = nullptr;  // the recorder's copy
  int32_t name = kNone;
  int32_t overload = kNone;
  int32_t arguments = kNone;  // of the operator's schema
  Integers integers = Integers::by_value;
  bool is_engine = false;    // autograd::engine::evaluate_function
  bool accumulates = false;  // torch::autograd::AccumulateGrad
  bool is_operator = false;  // in torch's registry
  bool touches = false;      // touches the data of its tensors
  Kind kind = Kind::any;

  [[nodiscard]] bool names(const char* given) const;
};
static_assert(sizeof(NameSlot) == 64);  // one cache line

// What must be ended when an operator ends.
enum Follows : uint8_t { kRange = 1, kId = 2, kPhase = 4, kOwnTime = 8 };

struct OpenOperator {
  const at::RecordFunction* function;
  const void* frame;
  int64_t start_ticks;
  int64_t start_cpu_ns;
  int64_t start_faults;
  int64_t own_ticks;  // cost of recording its start; only set with kOwnTime
  int64_t sequence;
  int64_t node_sequence;
  int32_t instruction;  // of the frame
  int32_t name;
  int32_t overload;
  int32_t signature;
  int32_t stack;
  int32_t forward_thread;
  int32_t node_thread;
  int32_t scope;
  int32_t forward_line;  // of the node it runs in; only set while ranges are emitted
  Kind kind;
  uint8_t follows;
  bool is_inside;  // it or an operator around it has a kind
  bool is_engine;
  bool stands_still;  // C++ code until it ends: the Python frames below cannot change

  void add_own_time(int64_t begin_ticks) {
    own_ticks = read_ticks() - begin_ticks;
    follows |= kOwnTime;
  }
};

// The open operators of a thread, outermost first. Slots are filled in place, without copying or
// clearing.
class OpenStack {
 public:
  static constexpr size_t kDeepest = 4096;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == kDeepest; }
  OpenOperator& operator[](size_t place) { return slots_[place]; }
  OpenOperator& top() { return slots_[size_ - 1]; }
  // nullptr if no operator is open.
  OpenOperator* parent() { return size_ == 0 ? nullptr : &slots_[size_ - 1]; }
  // The slot that the next `push` puts on top.
  OpenOperator& next() { return slots_[size_]; }
  void push() { ++size_; }
  void pop() { --size_; }
  void clear() { size_ = 0; }

 private:
  MappedArray<OpenOperator, kDeepest> slots_;
  size_t size_ = 0;
};

struct ModuleSlot {
  const void* module = nullptr;
  const void* weak = nullptr;
  int32_t id = kNone;
  uint32_t generation = 0;
};

// The module of a parameter. The tensor's address may belong to another tensor now. That one then
// has other inputs, or the module is no longer alive.
struct ParameterSlot {
  const void* tensor = nullptr;
  const void* weak = nullptr;  // of the module; nullptr if none is known
  int32_t module = kNone;
  int32_t signature = kNone;
  uint32_t generation = 0;  // of modules' names; if no module is known: how many were named
};

// About the stack up to a call.
struct StackNote {
  Hash128 hash;
  int32_t module;  // the innermost one that is being called
  int32_t root;    // index of the call of the outermost module
  int32_t stack;   // InternTable::kAbsent: not asked for yet
};

class NameCache {
 public:
  const NameSlot& find(const at::RecordFunction& function, RecorderPort& port);
  // This operator's integers keep changing: from now on they count by type.
  void set_by_type(const NameSlot& slot);
  // Counts the signatures of one operator that differ only in integers. Returns true beyond the
  // limit.
  bool varies_without_end(const NameSlot& slot, Hash128 typed);
  void clear();

 private:
  static constexpr size_t kSlots = 1024;
  static constexpr size_t kProbes = 8;

  struct OperatorKey {
    int32_t name, overload;
    bool operator==(const OperatorKey&) const = default;
  };
  struct OperatorHash {
    size_t operator()(const OperatorKey& key) const {
      return static_cast<size_t>(key.name) * 0x9E3779B1U + static_cast<size_t>(key.overload);
    }
  };
  struct Hash128Low {
    size_t operator()(const Hash128& hash) const { return hash.low; }
  };

  const NameSlot& fill(NameSlot& slot, const at::RecordFunction& function, RecorderPort& port);

  MappedVector<NameSlot> slots_ = MappedVector<NameSlot>(kSlots);
  MappedPool pool_;
  std::pmr::unordered_map<OperatorKey, Integers, OperatorHash> integers_{pool_.resource()};
  std::pmr::unordered_map<Hash128, int, Hash128Low> variants_{pool_.resource()};
};

struct ValueReads {
  uint32_t calls = 1;
  uint32_t next = 4;  // the next call whose tensors are read
};

struct ThreadState {
  static constexpr size_t kModuleSlots = 1024;
  static constexpr size_t kParameterSlots = 4096;
  // For signatures and for stacks: twice what a recording distinguishes.
  static constexpr size_t kCachedIds = 2 * 65'536;

  uint32_t generation = 0;  // of the recording that this state belongs to
  int32_t thread = kNone;
  Chunk* chunk = nullptr;
  uint32_t rows = 0;  // in the chunk
  Chunk* memory_chunk = nullptr;
  uint32_t memory_rows = 0;             // in that chunk
  MappedVector<int32_t> noted_modules;  // roots whose tensors have been recorded
  uint32_t until_timed =
      OwnTime::kEvery;          // operators until the next one whose recording cost is measured
  int64_t next_wait_ticks = 0;  // when waiting for a processor is to be read next
  RecorderPort* port = nullptr;
  OpenStack open;
  NameCache names;
  InternTable signatures;
  MappedVector<ValueReads> value_reads;  // by signature; used if tensors are read again
  InternTable stacks;
  MappedVector<ModuleSlot> modules = MappedVector<ModuleSlot>(kModuleSlots);
  MappedVector<ParameterSlot> parameters;  // only used on threads that run backward
  OpenCalls<StackNote> calls;
  uint32_t calls_generation = 0;  // of the modules' names in `calls`
  bool has_notes = true;          // whether all `calls` have theirs
  FrameList frames;
  BudgetPort* budget = nullptr;         // told what full chunks cost
  Emitter* emitter = nullptr;           // sets operators as ranges
  const ExternalIdPort* ids = nullptr;  // the port that has the latest operator's id
  InternTable range_messages;
  ThreadPhase phase;
  OpenOperands operands;
  int32_t forward_id = 0;  // torch's number of this thread

  // Resets the state for another recording.
  void begin(RecorderPort* new_port, BudgetPort* new_budget, Emitter* new_emitter,
             uint32_t new_generation);
  // Called when the thread ends: its rows go to the writer.
  void finish();
  // Returns the ticks at which recording an operator's start begins, if its cost is measured; else
  // 0.
  int64_t begin_own_time() {
    if (--until_timed != 0) [[likely]]
      return 0;
    until_timed = OwnTime::kEvery;
    return read_ticks();
  }
  // Between operators: reads how long the thread has waited for a processor, about every 2 ms. Time
  // slices are longer, and a reading takes 2 us. Returns the ticks at which the thread goes on.
  int64_t look_at_wait(int64_t now_ticks) {
    return now_ticks < next_wait_ticks ? now_ticks : read_wait(now_ticks);
  }
  int64_t read_wait(int64_t now_ticks);
  // Ends everything that follows from an operator. end_ticks: when recording its end began; 0 if it
  // never ended.
  void unfollow(const OpenOperator& ended, int64_t end_ticks = 0);
  // Gives up operators open above `depth`: they ended on other threads or will never end.
  void unwind(size_t depth);
  // The place of the next row; nullptr without memory.
  OperatorRecord* next_row();
  void publish_row() { chunk->count.store(++rows, std::memory_order_release); }
  MemoryRecord* next_memory_row();
  void publish_memory_row() { memory_chunk->count.store(++memory_rows, std::memory_order_release); }
};

}  // namespace perfprobe
