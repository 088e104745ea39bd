#include "python/outermost.h"

#include <type_traits>
#include <utility>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

namespace perfprobe {
namespace {

// Where the thread's innermost frame stands.
auto& innermost(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030D0000
  return state->current_frame;
#elif PY_VERSION_HEX >= 0x030B0000
  return state->cframe->current_frame;
#else
  return state->frame;
#endif
}

// How many calls the recursion limit has counted.
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

}  // namespace

HiddenFrames::HiddenFrames()
    : state_(PyThreadState_Get()),
      frame_(std::exchange(innermost(state_), nullptr)),
      depth_(depth(state_)) {
  add_depth(state_, -depth_);
}

HiddenFrames::~HiddenFrames() {
  auto& place = innermost(state_);
  place = static_cast<std::remove_reference_t<decltype(place)>>(frame_);
  add_depth(state_, depth_);
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

}  // namespace perfprobe
