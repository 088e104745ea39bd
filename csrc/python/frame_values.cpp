#include "python/frame_values.h"

#include "python/frames.h"

namespace perfprobe {
namespace {

// For a cell, adds its content.
void add_value(FrameValues& values, PyObject* value) {
  if (value != nullptr && PyCell_Check(value) != 0)
    value = PyCell_GET(value);
  if (value != nullptr)
    values.variables.push_back(value);
}

Py_ssize_t variable_count(const PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return code->co_nlocalsplus;
#else
  return code->co_nlocals + PyTuple_GET_SIZE(code->co_cellvars) +
         PyTuple_GET_SIZE(code->co_freevars);
#endif
}

std::vector<FrameValues> values_by_layout(size_t most) {
  std::vector<FrameValues> found;
  for (const RawFrame* frame = top_frame(PyThreadState_Get());
       frame != nullptr && found.size() < most; frame = outer_of(frame)) {
    if (!has_code(frame))
      continue;
    FrameValues& values = found.emplace_back(FrameValues{code_of(frame), globals_of(frame), {}});
    for (int i = 0; i < variable_count(values.code); ++i)
      add_value(values, variable_of(frame, i));
  }
  return found;
}

#if PY_VERSION_HEX >= 0x030C0000

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

std::vector<FrameValues> values_by_public_api(size_t most) {
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

#else

// The public API would give them all at once, in a dictionary that the program sees.
std::vector<FrameValues> values_by_public_api(size_t /*most*/) {
  return {};
}

#endif

}  // namespace

std::vector<FrameValues> read_frame_values(size_t most) {
  return frames_fit() ? values_by_layout(most) : values_by_public_api(most);
}

}  // namespace perfprobe
