// The interpreter's lock, for what an observer has to ask Python.
#pragma once

#include <Python.h>

namespace perfprobe {

// Given back whatever is thrown: an operator that kept it would wait for itself. Never taken with a
// lock of ours held: waiting for the GIL under a lock that a GIL holder wants would be a deadlock.
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
