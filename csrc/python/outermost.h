// Runs the program as the interpreter would: as if no frame lay below it.
#pragma once

#include <Python.h>

namespace perfprobe {

// The frames that lie below are no longer this thread's while it lives: neither tracebacks,
// `sys._getframe` and faulthandler nor the recursion limit meet them. For the thread that made it,
// and around a call that begins a frame of its own.
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

// As the interpreter runs a script: `code` in `globals`. New reference, or nullptr with an
// exception set. The recursion limit, which may be any by now, leaves the caller room after that,
// until it has called `count_frames`.
PyObject* run_outermost(PyObject* code, PyObject* globals);
// The same for a call of a function, with a tuple of arguments.
PyObject* call_outermost(PyObject* function, PyObject* arguments);

// Has the frames that were hidden count against the recursion limit again.
void count_frames();

}  // namespace perfprobe
