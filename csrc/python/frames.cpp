#include "python/frames.h"

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

namespace perfprobe {

void read_frames_fast(const PyThreadState* state, const void* module_call, FrameList& frames) {
  for (const RawFrame* frame = top_frame(state); frame != nullptr; frame = outer_of(frame)) {
    if (has_code(frame))
      frames.push_back(place_of(frame, module_call));
  }
}

namespace {

#if PY_VERSION_HEX >= 0x030C0000

const void* self_of(PyFrameObject* frame) {
  PyObject* self = PyFrame_GetVarString(frame, "self");
  if (self == nullptr)
    PyErr_Clear();
  Py_XDECREF(self);  // the frame keeps it alive
  return self;
}

#elif PY_VERSION_HEX >= 0x030B0000

const void* self_of(PyFrameObject* frame) {
  PyObject* locals = PyFrame_GetLocals(frame);
  PyObject* self = locals == nullptr ? nullptr : PyDict_GetItemString(locals, "self");
  if (PyErr_Occurred() != nullptr)
    PyErr_Clear();
  Py_XDECREF(locals);
  return self;
}

#else

const void* self_of(PyFrameObject* frame) {
  return frame->f_localsplus[0];
}

#endif

int32_t instruction_of_public(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  // 3.10 counts in code units of two bytes. Its frame structure is public.
  return frame->f_lasti * 2;
#endif
}

}  // namespace

bool read_frames_public(PyThreadState* state, const void* module_call, FrameList& frames,
                        size_t most) {
  PyFrameObject* frame = PyThreadState_GetFrame(state);
  for (size_t read = 0; frame != nullptr && read < most; ++read) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const void* callable = code == module_call ? self_of(frame) : nullptr;
    frames.push_back({code, instruction_of_public(frame), callable});
    Py_DECREF(code);  // the frame keeps it alive, and this holds a reference to the frame
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  const bool is_whole = frame == nullptr;
  Py_XDECREF(frame);
  return is_whole;
}

}  // namespace perfprobe
