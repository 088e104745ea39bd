#include "python/frame_values.h"

#include "python/frames.h"

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

namespace perfprobe {
namespace {

// For a cell, adds its content.
void add_value(FrameValues& values, PyObject* value) {
  if (value != nullptr && PyCell_Check(value) != 0)
    value = PyCell_GET(value);
  if (value != nullptr)
    values.variables.push_back(value);
}

#if !defined(PERFPROBE_FAST_FRAMES) && PY_VERSION_HEX < 0x030B0000

void add_variables(PyFrameObject* frame, FrameValues& values) {
  const PyCodeObject* code = values.code;
  const Py_ssize_t count =
      code->co_nlocals + PyTuple_GET_SIZE(code->co_cellvars) + PyTuple_GET_SIZE(code->co_freevars);
  for (Py_ssize_t i = 0; i < count; ++i)
    add_value(values, frame->f_localsplus[i]);
}

PyObject* globals_of(PyFrameObject* frame) {
  return frame->f_globals;
}

#elif !defined(PERFPROBE_FAST_FRAMES) && PY_VERSION_HEX >= 0x030C0000

// `names`: a new reference to a tuple.
void add_named(PyFrameObject* frame, PyObject* names, FrameValues& values) {
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* value = PyFrame_GetVar(frame, PyTuple_GET_ITEM(names, i));
    if (value == nullptr)
      PyErr_Clear();  // the name has no value yet
    add_value(values, value);
    Py_XDECREF(value);  // the frame keeps it alive
  }
  Py_XDECREF(names);
}

void add_variables(PyFrameObject* frame, FrameValues& values) {
  add_named(frame, PyCode_GetVarnames(values.code), values);
  add_named(frame, PyCode_GetCellvars(values.code), values);
  add_named(frame, PyCode_GetFreevars(values.code), values);
}

PyObject* globals_of(PyFrameObject* frame) {
  PyObject* globals = PyFrame_GetGlobals(frame);
  Py_XDECREF(globals);  // the frame keeps it alive
  return globals;
}

#endif

}  // namespace

#ifdef PERFPROBE_FAST_FRAMES

std::vector<FrameValues> read_frame_values(size_t most) {
  std::vector<FrameValues> found;
  for (const RawFrame* frame = top_frame(PyThreadState_Get());
       frame != nullptr && found.size() < most; frame = frame->previous) {
    if (!has_code(frame))
      continue;
    FrameValues& values = found.emplace_back(FrameValues{frame->f_code, frame->f_globals, {}});
    for (int i = 0; i < frame->f_code->co_nlocalsplus; ++i)
      add_value(values, frame->localsplus[i]);
  }
  return found;
}

#else

std::vector<FrameValues> read_frame_values(size_t most) {
  std::vector<FrameValues> found;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    if (found.size() < most) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      FrameValues& values = found.emplace_back(FrameValues{code, globals_of(frame), {}});
      add_variables(frame, values);
      Py_DECREF(code);  // the frame keeps it alive, and this holds a reference to the frame
    }
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  return found;
}

#endif

}  // namespace perfprobe
