#include "torch/stacks.h"

#include <utility>

#include "core/clock.h"
#include "torch/gil.h"
#include "torch/memory_watch.h"

namespace perfprobe {
namespace {

const void* module_call_code = nullptr;

ModuleSlot& module_slot(ThreadState& state, const void* module) {
  return state.modules[(reinterpret_cast<uintptr_t>(module) >> 4) % ThreadState::kModuleSlots];
}

// A module's address may belong to another module now; the weak reference tells. A frame on this
// stack keeps `module` alive, so a reference that points to it cannot be cleared meanwhile.
bool is_current(const ModuleSlot& slot, const void* module, uint32_t generation) {
  return slot.module == module && slot.generation == generation &&
         static_cast<const PyWeakReference*>(slot.weak)->wr_object == module;
}

// Returns kAbsent if this thread does not know the module and cannot ask.
int32_t find_module(ThreadState& state, const void* module, const void* root, bool has_gil) {
  ModuleSlot& slot = module_slot(state, module);
  // Not that of the calls: naming the root of this stack may just have renamed the modules in it.
  if (is_current(slot, module, state.port->module_generation()))
    return slot.id;
  if (!has_gil)
    return InternTable::kAbsent;
  const ModuleRef found = state.port->find_module(module, root);
  if (found.weak != nullptr)
    slot = {module, found.weak, found.id, state.port->module_generation()};
  return found.id;
}

// Whether the modules of the stack still have the names in its notes.
bool is_named(ThreadState& state) {
  if (!state.has_notes)
    return false;
  const size_t size = state.calls.size();
  return size == 0 || state.calls[size - 1].note.root == kNone ||
         state.calls_generation == state.port->module_generation();
}

// Writes the notes of the calls from this one on. Returns false if a module is not known yet.
bool note_calls(ThreadState& state, size_t first, bool has_gil) {
  StackNote note{Hasher().result(), kNone, kNone, InternTable::kAbsent};
  if (first > 0)
    note = state.calls[first - 1].note;
  note.stack = InternTable::kAbsent;
  Hasher hasher(note.hash, first);
  bool has_module = false;
  for (size_t i = first; i < state.calls.size(); ++i) {
    const FrameRef& place = state.calls[i].place;
    if (place.callable != nullptr) {
      if (!std::exchange(has_module, true))  // naming may increase it: the notes are stale then
        state.calls_generation = state.port->module_generation();
      if (note.root == kNone)
        note.root = static_cast<int32_t>(i);
      const void* root = state.calls[static_cast<size_t>(note.root)].place.callable;
      const int32_t module = find_module(state, place.callable, root, has_gil);
      if (module == InternTable::kAbsent)
        return false;
      if (module != kNone)
        note.module = module;
    }
    hasher.add(reinterpret_cast<uint64_t>(place.code),
               static_cast<uint64_t>(static_cast<uint32_t>(place.instruction)) |
                   static_cast<uint64_t>(static_cast<uint32_t>(note.module)) << 32);
    note.hash = hasher.result();
    state.calls[i].note = note;
  }
  return true;
}

// Returns the id of the stack, kAbsent if this thread has not seen it yet.
int32_t find_noted(ThreadState& state) {
  StackNote& whole = state.calls[state.calls.size() - 1].note;
  if (whole.stack == InternTable::kAbsent)
    whole.stack = state.stacks.find(whole.hash);
  return whole.stack;
}

// Adds the whole stack to the recording. Needs the GIL.
int32_t add_stack(ThreadState& state) {
  OpenCalls<StackNote>& calls = state.calls;
  size_t first = calls.size();
  while (first > 0 && calls[first - 1].note.stack == InternTable::kAbsent)
    --first;
  int32_t stack = first == 0 ? kNone : calls[first - 1].note.stack;
  for (; first < calls.size(); ++first) {
    OpenCall<StackNote>& call = calls[first];
    call.note.stack = stack = state.port->add_call(stack, call.place, call.note.module);
  }
  state.port->remember_stack(calls[calls.size() - 1].note.hash, stack);
  return stack;
}

// Names the modules of the calls from this one on, then the stack.
[[gnu::noinline]] int32_t name_stack(ThreadState& state, size_t first) try {
  const Gil gil;
  note_calls(state, first, true);
  StackNote& whole = state.calls[state.calls.size() - 1].note;
  if (whole.root != kNone && watches_memory())
    note_tensors(state, state.calls[static_cast<size_t>(whole.root)].place.callable);
  const int32_t known = state.stacks.find(whole.hash);
  if (known != InternTable::kAbsent)
    return whole.stack = known;
  const int32_t named = state.port->find_stack(whole.hash);
  whole.stack = named != InternTable::kAbsent ? named : add_stack(state);
  if (state.stacks.size() < ThreadState::kCachedIds)
    state.stacks.insert(whole.hash, whole.stack);
  return whole.stack;
} catch (...) {
  state.has_notes = false;
  throw;
}

// A thread has begun to call a module, from outside of others.
[[gnu::noinline]] void note_module_call(ThreadState& state, const StackNote& whole) {
  const StackNote& root = state.calls[static_cast<size_t>(whole.root)].note;
  state.port->add_module_call({.start_ns = monotonic_ns(),
                               .thread = state.thread,
                               .module = root.module,
                               .stack = whole.stack});
}

// Returns the id of the thread's stack. Takes the GIL only on first sight.
int32_t find_stack_of(ThreadState& state, PyThreadState* python) {
  const bool was_named = is_named(state);
  const size_t unchanged = state.calls.look(python, module_call_code);
  const size_t kept = was_named ? unchanged : 0;
  state.has_notes = true;
  if (state.calls.size() == 0)
    return kNone;
  int32_t stack = InternTable::kAbsent;
  if (kept == state.calls.size() || note_calls(state, kept, false))
    stack = find_noted(state);
  if (stack == InternTable::kAbsent)
    stack = name_stack(state, kept);
  const StackNote& whole = state.calls[state.calls.size() - 1].note;
  if (whole.root != kNone && state.calls.is_new(static_cast<size_t>(whole.root))) [[unlikely]]
    note_module_call(state, whole);
  return stack;
}

void read_frames(ThreadState& state, PyThreadState* python) {
  state.frames.clear();
  if (frames_fit())
    read_frames_fast(python, module_call_code, state.frames);
  else
    read_frames_public(python, module_call_code, state.frames);
}

[[gnu::noinline]] int32_t find_public_stack(ThreadState& state, PyThreadState* python) {
  const Gil gil;
  return find_stack_of(state, python);
}

}  // namespace

void set_module_call(const void* code) {
  module_call_code = code;
}

int32_t find_stack(ThreadState& state, const OpenOperator* parent, OpenOperator& open) {
  open.frame = nullptr;
  PyThreadState* python = PyGILState_GetThisThreadState();
  if (python == nullptr)
    return kNone;
  if (!frames_fit()) [[unlikely]]
    return find_public_stack(state, python);
  const RawFrame* frame = top_frame(python);
  while (frame != nullptr && !has_code(frame))
    frame = outer_of(frame);
  if (frame == nullptr)
    return kNone;
  // A range opened by Python returns to Python, so the frames below it change and others take their
  // addresses.
  open.frame = open.stands_still ? frame : nullptr;
  open.instruction = instruction_of(frame);
  if (parent != nullptr && parent->frame == frame && parent->instruction == open.instruction)
    return parent->stack;
  return find_stack_of(state, python);
}

std::string users_line(ThreadState& state, const UserLines& lines, bool in_backward) {
  PyThreadState* python = PyGILState_GetThisThreadState();
  if (python == nullptr)
    return {};
  const Gil gil;
  read_frames(state, python);
  return lines.find(state.frames, in_backward);
}

}  // namespace perfprobe
