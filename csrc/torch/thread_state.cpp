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
constexpr size_t kMostVariants = 65'536;  // by then the signatures are "(other)" anyway
constexpr int kVariants = 64;             // signatures of an operator that differ in integers only

size_t slot_of(const char* address) {
  return static_cast<size_t>((reinterpret_cast<uintptr_t>(address) >> 3) * 0x9E3779B97F4A7C15ULL >>
                             48);
}

}  // namespace

const NameSlot& NameCache::find(const at::RecordFunction& function, RecorderPort& port) {
  const char* name = function.name();
  const size_t home = slot_of(name);
  for (size_t probe = 0; probe < kProbes; ++probe) {
    NameSlot& slot = slots_[(home + probe) % kSlots];
    if (slot.address == nullptr)
      return fill(slot, function, port);
    if (slot.address == name && std::strcmp(slot.text, name) == 0)
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
  slot = {name, known.text, known.id, overload_id, arguments, integers, is_engine, is_operator};
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

void ThreadState::begin(RecorderPort* new_port, uint32_t new_generation) {
  finish();
  port = new_port;
  generation = new_generation;
  open.clear();
  names.clear();
  signatures.clear();
  stacks.clear();
  std::fill(modules.begin(), modules.end(), ModuleSlot{});
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  const auto forward_id = static_cast<int64_t>(at::RecordFunction::currentThreadId());
  thread = port->add_thread(::syscall(SYS_gettid), forward_id, name);
}

OperatorRecord* ThreadState::next_row() {
  if (chunk == nullptr || rows == Chunk::kCapacity) {
    Chunk* full = std::exchange(chunk, nullptr);  // never handed in twice, whatever is thrown
    chunk = port->exchange_chunk(full, thread);
    rows = 0;
    if (chunk == nullptr)
      return nullptr;
  }
  return chunk->rows + rows;
}

// Also after the recording has ended: its recorder lives on and takes the chunk back.
void ThreadState::finish() {
  if (chunk != nullptr)
    port->return_chunk(chunk);
  chunk = nullptr;
}

}  // namespace perfprobe
