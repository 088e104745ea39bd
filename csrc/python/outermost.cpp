#include "python/outermost.h"

#include <type_traits>
#include <utility>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

namespace perfprobe {
namespace {

constexpr int kRoom = 200;  // calls
int uncounted = 0;          // calls that `count_frames` adds to the recursion limit again

// The place that holds the thread's innermost frame.
auto& innermost(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030D0000
  return state->current_frame;
#elif PY_VERSION_HEX >= 0x030B0000
  return state->cframe->current_frame;
#else
  return state->frame;
#endif
}

// The number of calls that count against the recursion limit.
int depth(const PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030C0000
  return state->py_recursion_limit - state->py_recursion_remaining;
#elif PY_VERSION_HEX >= 0x030B0000
  return state->recursion_limit - state->recursion_remaining;
#else
  return state->recursion_depth;
#endif
}

void add_depth(PyThreadState* state, int change) {
#if PY_VERSION_HEX >= 0x030C0000
  state->py_recursion_remaining -= change;
#elif PY_VERSION_HEX >= 0x030B0000
  state->recursion_remaining -= change;
#else
  state->recursion_depth += change;
#endif
}

// 3.12 and 3.13 also count calls that go through C, with a separate limit.
int swap_c_depth(PyThreadState* state, int depth) {
#if PY_VERSION_HEX >= 0x030E0000 || PY_VERSION_HEX < 0x030C0000
  static_cast<void>(state);
  return depth;
#else
#ifdef Py_C_RECURSION_LIMIT
  constexpr int kLimit = Py_C_RECURSION_LIMIT;
#else
  constexpr int kLimit = C_RECURSION_LIMIT;
#endif
  return kLimit - std::exchange(state->c_recursion_remaining, kLimit - depth);
#endif
}

}  // namespace

HiddenFrames::HiddenFrames()
    : state_(PyThreadState_Get()),
      frame_(std::exchange(innermost(state_), nullptr)),
      c_depth_(swap_c_depth(state_, 0)) {
  uncounted += depth(state_);
  add_depth(state_, -depth(state_));
}

HiddenFrames::~HiddenFrames() {
  auto& place = innermost(state_);
  place = static_cast<std::remove_reference_t<decltype(place)>>(frame_);
  uncounted += kRoom;
  add_depth(state_, -kRoom);
  swap_c_depth(state_, c_depth_);
}

PyObject* run_outermost(PyObject* code, PyObject* globals) {
  if (PySys_Audit("exec", "O", code) < 0)
    return nullptr;
  const HiddenFrames hidden;
  return PyEval_EvalCode(code, globals, globals);
}

PyObject* call_outermost(PyObject* function, PyObject* arguments) {
  const HiddenFrames hidden;
  return PyObject_Call(function, arguments, nullptr);
}

void count_frames() {
  add_depth(PyThreadState_Get(), std::exchange(uncounted, 0));
}

}  // namespace perfprobe
