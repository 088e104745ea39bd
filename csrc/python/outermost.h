// Runs the program as the interpreter would: as if there were no frame below it.
#pragma once

#include <Python.h>

namespace perfprobe {

// While this object lives, the frames below are hidden from this thread: tracebacks,
// `sys._getframe` and faulthandler do not show them, and the recursion limit does not count them.
// Use it only on the thread that made it, around a call that begins a new frame.
class HiddenFrames {
 public:
  HiddenFrames();
  ~HiddenFrames();
  HiddenFrames(const HiddenFrames&) = delete;
  HiddenFrames& operator=(const HiddenFrames&) = delete;

 private:
  PyThreadState* state_;
  void* frame_;
  int c_depth_;
};

// Runs `code` in `globals` as the interpreter runs a script. Returns a new reference, or nullptr
// with an exception set. The program may have changed the recursion limit; the caller still has
// room for some calls afterwards, until it calls `count_frames`.
PyObject* run_outermost(PyObject* code, PyObject* globals);
// The same for a function call with a tuple of arguments.
PyObject* call_outermost(PyObject* function, PyObject* arguments);

// The hidden frames count against the recursion limit again.
void count_frames();

}  // namespace perfprobe
