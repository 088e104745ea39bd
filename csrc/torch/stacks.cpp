#include "torch/stacks.h"

#include "torch/gil.h"
#include "torch/memory_watch.h"

namespace perfprobe {
namespace {

const void* module_call_code = nullptr;

// Adds the same words for frames read by the fast path and for those of a list.
void add_frame(Hasher& hasher, const void* code, int32_t instruction, int32_t module) {
  hasher.add(reinterpret_cast<uint64_t>(code),
             static_cast<uint64_t>(static_cast<uint32_t>(instruction)) |
                 static_cast<uint64_t>(static_cast<uint32_t>(module)) << 32);
}

ModuleSlot& module_slot(ThreadState& state, const void* module) {
  return state.modules[(reinterpret_cast<uintptr_t>(module) >> 4) % ThreadState::kModuleSlots];
}

#ifdef PERFPROBE_FAST_FRAMES

// A module's address may belong to another module now; the weak reference tells. A frame on this
// stack keeps `module` alive, so a reference that points to it cannot be cleared meanwhile.
bool is_current(const ModuleSlot& slot, const void* module, uint32_t generation) {
  return slot.module == module && slot.generation == generation &&
         static_cast<const PyWeakReference*>(slot.weak)->wr_object == module;
}

// Returns false if this thread does not know a module on the stack yet.
bool hash_frames(ThreadState& state, const RawFrame* frame, Hash128& hash) {
  Hasher hasher;
  for (; frame != nullptr; frame = frame->previous) {
    if (!has_code(frame))
      continue;
    int32_t module = kNone;
    if (frame->f_code == module_call_code) {
      const void* called = first_local(frame);
      const ModuleSlot& slot = module_slot(state, called);
      if (!is_current(slot, called, state.port->module_generation()))
        return false;
      module = slot.id;
    }
    add_frame(hasher, frame->f_code, instruction_of(frame), module);
  }
  hash = hasher.result();
  return true;
}

#endif

const void* outermost_module(const FrameList& frames) {
  for (size_t i = frames.size(); i-- > 0;) {
    if (frames[i].callable != nullptr)
      return frames[i].callable;
  }
  return nullptr;
}

int32_t find_module(ThreadState& state, const void* module, const void* root) {
  const ModuleRef found = state.port->find_module(module, root);
  if (found.weak != nullptr) {
    module_slot(state, module) = {module, found.weak, found.id, state.port->module_generation()};
  }
  return found.id;
}

// Names the modules of the stack in state.frames, then the stack. Needs the GIL.
int32_t intern_frames(ThreadState& state) {
  const void* root = outermost_module(state.frames);
  if (root != nullptr && watches_memory())
    note_tensors(state, root);
  Hasher hasher;
  state.frame_modules.clear();
  for (const FrameRef& frame : state.frames) {
    const int32_t module =
        frame.callable == nullptr ? kNone : find_module(state, frame.callable, root);
    state.frame_modules.push_back(module);
    add_frame(hasher, frame.code, frame.instruction, module);
  }
  const Hash128 hash = hasher.result();
  const int32_t known = state.stacks.find(hash);
  if (known != InternTable::kAbsent)
    return known;
  const int32_t id = state.port->add_stack(hash, state.frames.data(), state.frame_modules.data(),
                                           state.frames.size());
  if (state.stacks.size() < ThreadState::kCachedIds)
    state.stacks.insert(hash, id);
  return id;
}

void read_frames(ThreadState& state, PyThreadState* python) {
  state.frames.clear();
#ifdef PERFPROBE_FAST_FRAMES
  read_frames_fast(python, module_call_code, state.frames);
#else
  read_frames_public(python, module_call_code, state.frames);
#endif
}

// Only called on first sight with the fast path; for every event with the public API.
int32_t find_stack_with_gil(ThreadState& state, PyThreadState* python) {
  const Gil gil;
  read_frames(state, python);
  return state.frames.empty() ? kNone : intern_frames(state);
}

}  // namespace

void set_module_call(const void* code) {
  module_call_code = code;
}

#ifdef PERFPROBE_FAST_FRAMES

int32_t find_stack(ThreadState& state, const OpenOperator* parent, OpenOperator& open) {
  open.frame = nullptr;
  PyThreadState* python = PyGILState_GetThisThreadState();
  if (python == nullptr)
    return kNone;
  const RawFrame* frame = top_frame(python);
  while (frame != nullptr && !has_code(frame))
    frame = frame->previous;
  if (frame == nullptr)
    return kNone;
  // A range opened by Python returns to Python, so the frames below it change and others take their
  // addresses.
  open.frame = open.stands_still ? frame : nullptr;
  open.instruction = frame->prev_instr;
  if (parent != nullptr && parent->frame == frame && parent->instruction == open.instruction)
    return parent->stack;
  Hash128 hash;
  if (hash_frames(state, frame, hash)) {
    const int32_t known = state.stacks.find(hash);
    if (known != InternTable::kAbsent)
      return known;
  }
  return find_stack_with_gil(state, python);
}

#else

int32_t find_stack(ThreadState& state, const OpenOperator* /*parent*/, OpenOperator& /*open*/) {
  PyThreadState* python = PyGILState_GetThisThreadState();
  return python == nullptr ? kNone : find_stack_with_gil(state, python);
}

#endif

std::string users_line(ThreadState& state, const UserLines& lines, bool in_backward) {
  PyThreadState* python = PyGILState_GetThisThreadState();
  if (python == nullptr)
    return {};
  const Gil gil;
  read_frames(state, python);
  return lines.find(state.frames, in_backward);
}

}  // namespace perfprobe
