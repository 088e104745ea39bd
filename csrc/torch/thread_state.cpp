#include "torch/thread_state.h"

#include <algorithm>
#include <cstring>
#include <pthread.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace perfprobe {
namespace {

constexpr std::string_view kEnginePrefix = "autograd::engine::evaluate_function";
constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";
constexpr size_t kMostVariants = 65'536;  // beyond this the signatures are "(other)" anyway
constexpr int kVariants = 64;             // signatures of one operator that differ only in integers

size_t slot_of(const char* address) {
  return static_cast<size_t>((reinterpret_cast<uintptr_t>(address) >> 3) * 0x9E3779B97F4A7C15ULL >>
                             48);
}

// Recognizes the ranges of torch's optimizers by their names. A range of the program is an operator
// of no kind.
Kind kind_of(std::string_view name, bool is_operator) {
  if (name.starts_with(kEnginePrefix))
    return Kind::backward;
  if (name.starts_with("Optimizer.step#"))
    return Kind::optimizer_step;
  if (name.starts_with("Optimizer."))
    return Kind::optimizer;
  return is_operator && !name.starts_with("profiler::") ? Kind::forward : Kind::any;
}

[[gnu::no_sanitize("address")]] uint64_t read_word(const char* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Besides our own part of an event: torch calls the callbacks and makes values of the inputs (60 to
// 95 ns in trials), and the writer writes the row (60 ns).
constexpr double kBesidesNs = 150;

int64_t recording_ns(uint32_t events) {
  return static_cast<int64_t>((own_time.event_ns() + kBesidesNs) * events);
}

// In the result, the lowest set bit is the highest bit of the first byte that is 0; 0 if there is
// none (Mycroft's test).
uint64_t find_end(uint64_t word) {
  return (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;
}

}  // namespace

// Most names are short. They are compared word by word here, without a call and without loading the
// cache line of the recorder's copy. An aligned word is within one page, so the bytes after the end
// of the text may be read.
[[gnu::no_sanitize("address")]] bool NameSlot::names(const char* given) const {
  if (reinterpret_cast<uintptr_t>(given) % sizeof(uint64_t) != 0)
    return std::strcmp(text, given) == 0;
  for (size_t i = 0; i < kHead; ++i) {
    const uint64_t different = read_word(given + i * sizeof(uint64_t)) ^ head[i];
    if (const uint64_t end = find_end(head[i]); end != 0)
      return (different & (end ^ (end - 1))) == 0;
    if (different != 0)
      return false;
  }
  return std::strcmp(text + sizeof(head), given + sizeof(head)) == 0;
}

const NameSlot& NameCache::find(const at::RecordFunction& function, RecorderPort& port) {
  const char* name = function.name();
  const size_t home = slot_of(name);
  for (size_t probe = 0; probe < kProbes; ++probe) {
    NameSlot& slot = slots_[(home + probe) % kSlots];
    if (slot.address == nullptr)
      return fill(slot, function, port);
    if (slot.address == name && slot.names(name))
      return slot;
  }
  return fill(slots_[home % kSlots], function, port);
}

const NameSlot& NameCache::fill(NameSlot& slot, const at::RecordFunction& function,
                                RecorderPort& port) {
  const char* name = function.name();
  const char* overload = function.overload_name();
  const bool is_operator = function.operator_name().has_value();
  const InternedText known = port.intern_name(name, is_operator);
  const bool has_overload = overload != nullptr && *overload != '\0';
  const int32_t overload_id = has_overload ? port.intern_name(overload, true).id : kNone;
  const auto remembered = integers_.find({known.id, overload_id});
  const Integers integers = remembered == integers_.end() ? Integers::by_value : remembered->second;
  const bool is_engine = std::string_view(known.text).starts_with(kEnginePrefix);
  const int32_t arguments = is_operator ? static_cast<int32_t>(function.num_inputs()) : kNone;
  const bool touches = is_operator && touches_operands(function);
  slot = {name,        {},          known.text,
          known.id,    overload_id, arguments,
          integers,    is_engine,   known.text == kAccumulate,
          is_operator, touches,     kind_of(known.text, is_operator)};
  std::memcpy(slot.head, known.text, std::min(sizeof(slot.head), std::strlen(known.text)));
  return slot;
}

void NameCache::set_by_type(const NameSlot& slot) {
  integers_[{slot.name, slot.overload}] = Integers::by_type;
  for (NameSlot& other : slots_) {
    if (other.name == slot.name && other.overload == slot.overload)
      other.integers = Integers::by_type;
  }
}

bool NameCache::varies_without_end(const NameSlot& slot, Hash128 typed) {
  if (slot.integers == Integers::by_type)
    return false;
  const bool full = variants_.size() >= kMostVariants && !variants_.contains(typed);
  return !full && ++variants_[typed] > kVariants;
}

void NameCache::clear() {
  std::fill(slots_.begin(), slots_.end(), NameSlot{});
  integers_.clear();
  variants_.clear();
}

void ThreadState::begin(RecorderPort* new_port, BudgetPort* new_budget, Emitter* new_emitter,
                        uint32_t new_generation) {
  finish();
  port = new_port;
  budget = new_budget;
  generation = new_generation;
  emitter = new_emitter;
  names.clear();
  signatures.clear();
  value_reads.clear();
  parameters.clear();
  stacks.clear();
  calls.clear();
  noted_modules.clear();
  range_messages.clear();
  phase.kind = Kind::any;
  phase.is_busy = false;
  next_wait_ticks = 0;
  std::fill(modules.begin(), modules.end(), ModuleSlot{});
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  const auto number = static_cast<int64_t>(at::RecordFunction::currentThreadId());
  forward_id = static_cast<int32_t>(number);
  thread = port->add_thread(::syscall(SYS_gettid), number, name);
}

void ThreadState::unfollow(const OpenOperator& ended, int64_t end_ticks) {
  if ((ended.follows & kId) != 0) {
    uint64_t last = 0;
    ids->pop(ids->kind, &last);
  }
  if ((ended.follows & kRange) != 0)
    emitter->port.pop();
  if ((ended.follows & kPhase) != 0)
    emitter->training.end_operator(phase, ended.kind);
  if ((ended.follows & kOwnTime) != 0 && end_ticks != 0)
    own_time.add(ended.own_ticks + read_ticks() - end_ticks);
}

void ThreadState::unwind(size_t depth) {
  for (; open.size() > depth; open.pop())
    unfollow(open.top());
}

OperatorRecord* ThreadState::next_row() {
  if (chunk == nullptr || rows == Chunk::kCapacity) {
    if (chunk != nullptr && budget != nullptr)
      budget->spend(recording_ns(Chunk::kCapacity));
    Chunk* full = std::exchange(chunk, nullptr);  // first: an exception cannot return it twice
    chunk = port->exchange_chunk(full, thread, RowKind::operators);
    rows = 0;
    if (chunk == nullptr)
      return nullptr;
  }
  return chunk->rows + rows;
}

MemoryRecord* ThreadState::next_memory_row() {
  if (memory_chunk == nullptr || memory_rows == Chunk::kMemoryCapacity) [[unlikely]] {
    Chunk* full = std::exchange(memory_chunk, nullptr);
    memory_chunk = port->exchange_chunk(full, thread, RowKind::memory);
    memory_rows = 0;
    if (memory_chunk == nullptr)
      return nullptr;
  }
  return memory_chunk->memory_rows() + memory_rows;
}

// Ticks of today's processors take 0.2 to 0.5 ns.
[[gnu::noinline]] int64_t ThreadState::read_wait(int64_t now_ticks) {
  next_wait_ticks = now_ticks + (ticks_are_tsc ? 5'000'000 : 2'000'000);
  port->read_wait(thread);
  return read_ticks();
}

// Also called after the recording has ended: its recorder still exists and takes the chunk back.
void ThreadState::finish() {
  unwind(0);
  if (emitter != nullptr)
    emitter->training.end_thread(phase);
  if (chunk != nullptr)
    port->return_chunk(chunk);
  if (memory_chunk != nullptr)
    port->return_chunk(memory_chunk);
  chunk = memory_chunk = nullptr;
}

}  // namespace perfprobe
