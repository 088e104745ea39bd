// Numbers left in frames of the calling thread, which prove at a later look that a frame is still
// the same call.
//
// A frame's address and instruction prove nothing: the next call of the function gets the same
// ones. A mark does, because it is in memory that the interpreter writes whenever the frame could
// be another call, and does not read before: neither the program nor a debugger can see it. There
// are two such places, because the interpreter calls functions in two ways:
//
// 1. The frame runs C code, or Python code called by C. A mark proves that the frame has not been
//    left. The place depends on the version:
//    - 3.11 to 3.13: while the interpreter executes a frame, the height of its evaluation stack is
//      in a register, and `stacktop` is -1, of which others only use that it is not 0 and that no
//      value is below it. The mark is another negative number. A call that begins, a generator that
//      resumes and a function that returns to the frame set -1; a call that ends, a generator that
//      yields and a frame that calls without C set the height. The frame may have gone on to
//      another instruction. 3.10: the same with `f_stackdepth`, except for generators, because
//      Python looks below it in `_PyGen_yf`.
//    - 3.14 keeps the height in memory. When C calls Python, it makes a frame without code on the C
//      stack, with a place for the result, which it sets to null and does not read before the
//      result is there. The mark is in this place. The innermost frame has none. (`return_offset`
//      is no such place: it is still needed when a called function has returned and finalizers of
//      its variables run.)
// 2. The frame waits for a Python function that the interpreter executes without C in between (from
//    3.11 on). Then the height of its stack is in memory. The mark is in the free place above. The
//    called function or its first argument was there until the call, and its result will be. If it
//    raises, the mark stays, but the next call from there must first put a value into this place.
//    So a mark proves that the frame still waits in the same call.
//
// The places of frames further out cannot have changed either: each of them waits for the next one.
#pragma once

#include <cstdint>

#include "core/records.h"
#include "python/raw_frame.h"

namespace perfprobe {

// A frame and the one that it called, with or without code; nullptr for the innermost one.
struct Caller {
  RawFrame* frame;
  const RawFrame* called;
};

#ifndef PERFPROBE_FAST_FRAMES

inline bool calls_without_c(const Caller& /*caller*/) {
  return false;
}
inline int32_t mark_of(const Caller& /*caller*/) {
  return kNone;
}
inline bool set_mark(const Caller& /*caller*/, int32_t /*number*/) {
  return false;
}

#else

// Whether the frame waits for a call of the second kind.
inline bool calls_without_c(const Caller& caller) {
#if PY_VERSION_HEX >= 0x030E0000
  return caller.called != nullptr && !is_entry_from_c(caller.called);
#elif PY_VERSION_HEX >= 0x030B0000
  return caller.frame->stacktop >= 0;
#else
  static_cast<void>(caller);
  return false;
#endif
}

#if PY_VERSION_HEX < 0x030E0000

// The place of the first kind, where a number below -1 is a mark; nullptr if there is none.
inline int* height_of(RawFrame* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return &frame->stacktop;
#else
  return frame->f_stackdepth < 0 && frame->f_gen == nullptr ? &frame->f_stackdepth : nullptr;
#endif
}

#endif

#if PY_VERSION_HEX >= 0x030B0000

// Whether the interpreter called this function from the frame around it without C in between. Not
// for generators: to resume one frees no place. Nor does a call by C, such as one of a trace
// function, and an `__init__` takes nothing from the shim around it.
inline bool is_called_without_c(const Caller& caller) {
  if (caller.called == nullptr || caller.called->owner != FRAME_OWNED_BY_THREAD)
    return false;
#if PY_VERSION_HEX >= 0x030C0000
  return !is_shim(caller.frame);  // C code has a frame without code in between
#else
  return !caller.called->is_entry;
#endif
}

#endif

// The place among values, or nullptr.
#if PY_VERSION_HEX >= 0x030E0000

inline uintptr_t* place_of_mark(const Caller& caller) {
  if (is_called_without_c(caller))
    return &caller.frame->stackpointer->bits;
  const RawFrame* entry = caller.called;
  const bool has_place = entry != nullptr && entry->owner == FRAME_OWNED_BY_INTERPRETER &&
                         address_of(entry->stackpointer) == address_of(entry + 1);
  return has_place ? &entry->stackpointer->bits : nullptr;
}

#elif PY_VERSION_HEX >= 0x030B0000

inline uintptr_t* place_of_mark(const Caller& caller) {
  if (!is_called_without_c(caller))
    return nullptr;
  RawFrame* frame = caller.frame;
  PyObject** place = frame->localsplus + frame->stacktop;
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
  // If the value of a property is called, `a.b()`, the property's call did not free this place: it
  // put a null below it. (A null below an empty stack is a variable without a value.)
  const bool has_null = frame->stacktop > 0 && place[-1] == nullptr;
  if (has_null && frame->stacktop != frame->f_code->co_nlocalsplus)
    return nullptr;
#endif
  return reinterpret_cast<uintptr_t*>(place);
}

#else

inline uintptr_t* place_of_mark(const Caller& /*caller*/) {
  return nullptr;
}

#endif

// An odd number is no address of an object.
inline constexpr uintptr_t kMarkTag = 0x706D'0000'0000'0001;

// Returns the number left in this frame; kNone if there is none, or if it is another call now.
inline int32_t mark_of(const Caller& caller) {
#if PY_VERSION_HEX < 0x030E0000
  if (!calls_without_c(caller)) {
    const int* height = height_of(caller.frame);
    return height == nullptr ? kNone : -2 - *height;
  }
#endif
  const uintptr_t* place = place_of_mark(caller);
  if (place == nullptr)
    return kNone;
  const uintptr_t number = *place ^ kMarkTag;
  return (number & 1) == 0 && number >> 32 == 0 ? static_cast<int32_t>(number >> 1) : kNone;
}

// Leaves a number, 0 or greater, in the frame. Returns false if there is no place for one.
inline bool set_mark(const Caller& caller, int32_t number) {
#if PY_VERSION_HEX < 0x030E0000
  if (!calls_without_c(caller)) {
    int* height = height_of(caller.frame);
    if (height != nullptr)
      *height = -2 - number;
    return height != nullptr;
  }
#endif
  uintptr_t* place = place_of_mark(caller);
  if (place == nullptr)
    return false;
  *place = kMarkTag ^ static_cast<uintptr_t>(number) << 1;
  return true;
}

#endif

}  // namespace perfprobe
