// A Python frame as the interpreter keeps it, under the same names for all versions. For the frames
// of the calling thread, and for copies of others, whose values may be wrong: no pointer is
// followed here.
#pragma once

#include <cstddef>
#include <cstdint>

#include <Python.h>

#include "core/address_range.h"
#include "core/records.h"
#include "python/internal_frame.h"

namespace perfprobe {

#ifndef PERFPROBE_FAST_FRAMES

// No layout is known: frames_fit() is false, and nothing is read.
struct RawFrame {};

inline RawFrame* top_frame(const PyThreadState* /*state*/) {
  return nullptr;
}
inline RawFrame* outer_of(const RawFrame* /*frame*/) {
  return nullptr;
}
inline bool has_code(const RawFrame* /*frame*/) {
  return false;
}
inline PyCodeObject* code_of(const RawFrame* /*frame*/) {
  return nullptr;
}
inline PyObject* globals_of(const RawFrame* /*frame*/) {
  return nullptr;
}
inline int64_t offset_of(const RawFrame* /*frame*/) {
  return 0;
}
inline PyObject* variable_of(const RawFrame* /*frame*/, int /*place*/) {
  return nullptr;
}
inline PyObject* variable_names(const PyCodeObject* code) {
  return code->co_localsplusnames;
}

#else

#if PY_VERSION_HEX >= 0x030B0000
using RawFrame = _PyInterpreterFrame;
#else
using RawFrame = PyFrameObject;
#endif

inline RawFrame* top_frame(const PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030D0000
  return state->current_frame;
#elif PY_VERSION_HEX >= 0x030B0000
  return state->cframe == nullptr ? nullptr : state->cframe->current_frame;
#else
  return state->frame;
#endif
}

inline RawFrame* outer_of(const RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return frame->previous;
#else
  return frame->f_back;
#endif
}

#if PY_VERSION_HEX >= 0x030E0000

// Bits of a reference say how it is counted.
inline PyObject* object_of(_PyStackRef reference) {
  constexpr uintptr_t kTags = 3;
  return reinterpret_cast<PyObject*>(reference.bits & ~kTags);
}

#else

inline PyObject* object_of(PyObject* reference) {
  return reference;
}

#endif

// From 3.12 on, frames without Python code mark places where C calls into the interpreter.
inline bool is_entry_from_c(const RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030E0000
  return frame->owner >= FRAME_OWNED_BY_INTERPRETER;
#elif PY_VERSION_HEX >= 0x030C0000
  return frame->owner == FRAME_OWNED_BY_CSTACK;
#else
  static_cast<void>(frame);
  return false;
#endif
}

// From 3.13 on, a frame of the interpreter's own code surrounds an `__init__` that it calls without
// C. No traceback shows it.
inline bool is_shim(const RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
  return object_of(frame->f_funcobj) == Py_None;
#else
  static_cast<void>(frame);
  return false;
#endif
}

// Whether a traceback may show this frame.
inline bool has_code(const RawFrame* frame) {
  return !is_entry_from_c(frame) && !is_shim(frame);
}

inline PyCodeObject* code_of(const RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
  return reinterpret_cast<PyCodeObject*>(object_of(frame->f_executable));
#else
  return frame->f_code;
#endif
}

inline PyObject* globals_of(const RawFrame* frame) {
  return frame->f_globals;
}

// Returns the byte offset of the frame's instruction. For a copy it may be anything.
inline int64_t offset_of(const RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030B0000
#if PY_VERSION_HEX >= 0x030D0000
  const auto* instruction = frame->instr_ptr;
#else
  const auto* instruction = frame->prev_instr;
#endif
  // Unsigned until the end, because either may have any value.
  const uintptr_t first = address_of(code_of(frame)) + offsetof(PyCodeObject, co_code_adaptive);
  return static_cast<int64_t>(address_of(instruction) - first);
#else
  return int64_t{2} * frame->f_lasti;  // counted in units of two bytes
#endif
}

// An argument, local or cell; nullptr if it has no value.
inline PyObject* variable_of(const RawFrame* frame, int place) {
#if PY_VERSION_HEX >= 0x030B0000
  return object_of(frame->localsplus[place]);
#else
  return frame->f_localsplus[place];
#endif
}

// Returns the names of arguments and locals, in the order of their places. From 3.11 on also those
// of cells.
inline PyObject* variable_names(const PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return code->co_localsplusnames;
#else
  return code->co_varnames;
#endif
}

#endif

}  // namespace perfprobe
