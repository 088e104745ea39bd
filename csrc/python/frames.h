// Reads the Python frames of the calling thread.
//
// The fast path needs no GIL: a thread's frames cannot change while it is inside the C call that
// led here. It is used if the layout of frames is known for this version of CPython and fits the
// running interpreter; see frame_layout.h. Otherwise frames are read by the public C API with the
// GIL.
#pragma once

#include <cstddef>
#include <cstdint>

#include <Python.h>

#include "core/mapped_memory.h"
#include "core/records.h"
#include "python/frame_layout.h"
#include "python/raw_frame.h"

namespace perfprobe {

using FrameList = MappedVector<FrameRef>;

// Of a deeper stack, only the innermost kFramesOfCut frames are recorded, inside of kCutFrames. The
// public API is slow, so there every operator would pay for each frame.
constexpr size_t kFramesOfCut = 256;
constexpr size_t kDeepestRead = 16'384;

inline size_t deepest_read() {
  return frames_fit() ? kDeepestRead : kFramesOfCut;
}

inline int32_t instruction_of(const RawFrame* frame) {
  return static_cast<int32_t>(offset_of(frame));
}

// `module_call`: for frames of this code, the first local is stored as the frame's callable:
// `self` in Module._wrapped_call_impl, where it is not a cell.
inline FrameRef place_of(const RawFrame* frame, const void* module_call) {
  const PyCodeObject* code = code_of(frame);
  return {code, instruction_of(frame), code == module_call ? variable_of(frame, 0) : nullptr};
}

// Innermost first. Only if frames_fit().
void read_frames_fast(const PyThreadState* state, const void* module_call, FrameList& frames);

// The same by the public C API, up to this number of frames. Returns whether these are all. Needs
// the GIL.
bool read_frames_public(PyThreadState* state, const void* module_call, FrameList& frames,
                        size_t most = SIZE_MAX);

}  // namespace perfprobe
