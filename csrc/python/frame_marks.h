// Numbers left in frames of the calling thread, which prove at a later look that a frame is still
// the same call.
//
// A frame's address and instruction prove nothing: the next call of the function gets the same
// ones. A mark does, because it is in memory that the interpreter writes whenever the frame could
// be another call, and does not read before: neither the program nor a debugger can see it. There
// are two such places, because the interpreter calls functions in two ways (CPython 3.11 and 3.12):
//
// 1. The frame runs C code, or Python code called by C. While the interpreter executes a frame, the
//    height of its evaluation stack is in a register, and `stacktop` is -1, of which others only
//    use that it is not 0 and that no value is below it. The mark is another negative number. A
//    call that begins, a generator that resumes and a function that returns to the frame set -1; a
//    call that ends, a generator that yields and a frame that calls without C set the height. So a
//    mark proves that the frame has not been left. It may have gone on to another instruction.
// 2. The frame waits for a Python function that the interpreter executes without C in between. Then
//    `stacktop` is the height of its stack. The mark is in the free place above. The called
//    function or its first argument was there until the call, and its result will be. If it raises,
//    the mark stays, but the next call from there must first put a value into this place. So a mark
//    proves that the frame still waits in the same call.
//
// The places of frames further out cannot have changed either: each of them waits for the next one.
#pragma once

#include <cstdint>

#include "core/records.h"
#include "python/frames.h"

#ifdef PERFPROBE_FAST_FRAMES

namespace perfprobe {

// Whether the interpreter called this function from the frame around it without C in between. Not
// for generators: to resume one frees no place. Nor does a call by C, such as one of a trace
// function.
inline bool is_called_without_c(const RawFrame* called) {
  if (called == nullptr || called->owner != FRAME_OWNED_BY_THREAD)
    return false;
#if PY_VERSION_HEX >= 0x030C0000
  return true;  // C code has a frame without code in between
#else
  return !called->is_entry;
#endif
}

// The place of the second kind, or nullptr.
inline PyObject** place_of_mark(RawFrame* frame, const RawFrame* called) {
  if (!is_called_without_c(called))
    return nullptr;
  PyObject** place = frame->localsplus + frame->stacktop;
#if PY_VERSION_HEX >= 0x030C0000
  // If the value of a property is called, `a.b()`, the property's call did not free this place: it
  // put a null below it. (A null below an empty stack is a variable without a value.)
  const bool has_null = frame->stacktop > 0 && place[-1] == nullptr;
  if (has_null && frame->stacktop != frame->f_code->co_nlocalsplus)
    return nullptr;
#endif
  return place;
}

// An odd number is no address of an object.
inline constexpr uintptr_t kMarkTag = 0x706D'0000'0000'0001;

// Returns the number left in this frame; kNone if there is none, or if it is another call now.
// called: the frame that this one called, with or without code; nullptr for the innermost one.
inline int32_t mark_of(RawFrame* frame, const RawFrame* called) {
  if (frame->stacktop < 0)
    return -2 - frame->stacktop;
  PyObject** place = place_of_mark(frame, called);
  if (place == nullptr)
    return kNone;
  const uintptr_t number = reinterpret_cast<uintptr_t>(*place) ^ kMarkTag;
  return (number & 1) == 0 && number >> 32 == 0 ? static_cast<int32_t>(number >> 1) : kNone;
}

// Leaves a number, 0 or greater, in the frame. Returns false if there is no place for one.
inline bool set_mark(RawFrame* frame, const RawFrame* called, int32_t number) {
  if (frame->stacktop < 0) {
    frame->stacktop = -2 - number;
    return true;
  }
  PyObject** place = place_of_mark(frame, called);
  if (place == nullptr)
    return false;
  *place = reinterpret_cast<PyObject*>(kMarkTag ^ static_cast<uintptr_t>(number) << 1);
  return true;
}

}  // namespace perfprobe

#endif
