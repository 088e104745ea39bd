// Records a call of which torch does not notify its observers.
#pragma once

#include <cstddef>
#include <optional>

#include <ATen/record_function.h>
#include <Python.h>

namespace perfprobe {

// The call ends when this object is destroyed. Only this observer records it, and only during a
// recording.
class RecordedCall {
 public:
  // name: must live as long as this object. The arguments, as passed by Python, become its inputs:
  // tensors and numbers. Runs no Python code. If memory runs out, the call is not recorded.
  RecordedCall(const char* name, at::RecordScope scope, PyObject* const* arguments, size_t count);

 private:
  std::optional<at::RecordFunction> record_;
};

}  // namespace perfprobe
