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
  int depth_;
};

// As the interpreter runs a script: `code` in `globals`. New reference, or nullptr with an
// exception set.
PyObject* run_outermost(PyObject* code, PyObject* globals);
// The same for a call of a function, with a tuple of arguments.
PyObject* call_outermost(PyObject* function, PyObject* arguments);

}  // namespace perfprobe
