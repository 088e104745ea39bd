// Reads the Python frames of the calling thread. With foreign_frames and seen_code the only code
// that knows CPython's insides.
//
// The fast path (CPython 3.11 and 3.12, whose frame layout is taken from CPython's own internal
// headers) needs no GIL: a thread's own frames cannot change while it is inside the C call that
// brought us here. Every other version goes through the public C API, under the GIL, until its
// layout has been verified.
#pragma once

#include <cstdint>

#include <Python.h>

#include "core/mapped_memory.h"
#include "core/records.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000 && !defined(Py_GIL_DISABLED)
#define PERFPROBE_FAST_FRAMES 1
#include "python/internal_frame.h"
#endif

namespace perfprobe {

using FrameList = MappedVector<FrameRef>;

#ifdef PERFPROBE_FAST_FRAMES

using RawFrame = _PyInterpreterFrame;

inline const RawFrame* top_frame(const PyThreadState* state) {
  return state->cframe == nullptr ? nullptr : state->cframe->current_frame;
}

// 3.12 puts frames without Python code on the chain where C calls into the interpreter.
inline bool has_code(const RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
  return frame->owner != FRAME_OWNED_BY_CSTACK;
#else
  (void)frame;
  return true;
#endif
}

// The frame's first local: `self` in Module._wrapped_call_impl, where it is a plain local.
inline const void* first_local(const RawFrame* frame) {
  return frame->localsplus[0];
}

inline int32_t instruction_of(const RawFrame* frame) {
  const auto units =
      frame->prev_instr - reinterpret_cast<const _Py_CODEUNIT*>(frame->f_code->co_code_adaptive);
  return static_cast<int32_t>(units * static_cast<ptrdiff_t>(sizeof(_Py_CODEUNIT)));
}

// Innermost first. `module_call`: the code whose first local is to be noted as the frame's
// callable.
void read_frames_fast(const PyThreadState* state, const void* module_call, FrameList& frames);

#endif

// The same through the public C API. Needs the GIL.
void read_frames_public(PyThreadState* state, const void* module_call, FrameList& frames);

}  // namespace perfprobe
