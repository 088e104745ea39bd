// Takes Python's GIL for the observer's questions to Python.
#pragma once

#include <Python.h>

namespace perfprobe {

// Releases the GIL on any exception, as an operator that kept it would wait for itself. Never take
// it while holding a lock of perfprobe: a holder of the GIL may be waiting for that lock
// (deadlock).
class Gil {
 public:
  Gil() = default;
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_ = PyGILState_Ensure();
};

}  // namespace perfprobe
