// Reads the Python frames of the calling thread. Only this file, foreign_frames and seen_code know
// CPython's internals.
//
// The fast path (CPython 3.11 and 3.12, with the frame layout of CPython's internal headers) needs
// no GIL: a thread's frames cannot change while it is inside the C call that led here. Other
// versions use the public C API with the GIL until their layout is verified.
#pragma once

#include <cstddef>
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

// Of a deeper stack, only the innermost kFramesOfCut frames are recorded, inside of kCutFrames. The
// public API is slow, so there every operator would pay for each frame.
constexpr size_t kFramesOfCut = 256;
#ifdef PERFPROBE_FAST_FRAMES
constexpr size_t kDeepestRead = 16'384;
#else
constexpr size_t kDeepestRead = kFramesOfCut;
#endif

#ifdef PERFPROBE_FAST_FRAMES

using RawFrame = _PyInterpreterFrame;

inline RawFrame* top_frame(const PyThreadState* state) {
  return state->cframe == nullptr ? nullptr : state->cframe->current_frame;
}

// From 3.12 on, frames without Python code mark places where C calls into the interpreter.
inline bool has_code(const RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
  return frame->owner != FRAME_OWNED_BY_CSTACK;
#else
  (void)frame;
  return true;
#endif
}

// The frame's first local: `self` in Module._wrapped_call_impl, where it is not a cell.
inline const void* first_local(const RawFrame* frame) {
  return frame->localsplus[0];
}

inline int32_t instruction_of(const RawFrame* frame) {
  const auto units =
      frame->prev_instr - reinterpret_cast<const _Py_CODEUNIT*>(frame->f_code->co_code_adaptive);
  return static_cast<int32_t>(units * static_cast<ptrdiff_t>(sizeof(_Py_CODEUNIT)));
}

// `module_call`: for frames of this code, the first local is stored as the frame's callable.
inline FrameRef place_of(const RawFrame* frame, const void* module_call) {
  return {frame->f_code, instruction_of(frame),
          frame->f_code == module_call ? first_local(frame) : nullptr};
}

// Innermost first.
void read_frames_fast(const PyThreadState* state, const void* module_call, FrameList& frames);

#endif

// The same by the public C API, up to this number of frames. Returns whether these are all. Needs
// the GIL.
bool read_frames_public(PyThreadState* state, const void* module_call, FrameList& frames,
                        size_t most = SIZE_MAX);

}  // namespace perfprobe
