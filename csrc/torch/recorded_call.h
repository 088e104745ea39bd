// A row of this observer around a call that torch's observers are not told of.
#pragma once

#include <cstddef>
#include <optional>

#include <ATen/record_function.h>
#include <Python.h>

namespace perfprobe {

// Ends with its scope. Recorded by this observer alone, while it records.
class RecordedCall {
 public:
  // name: lives as long as this. The arguments, as Python passed them, become its inputs: tensors
  // and numbers; nothing here runs Python code. Without memory the call is not recorded.
  RecordedCall(const char* name, at::RecordScope scope, PyObject* const* arguments, size_t count);

 private:
  std::optional<at::RecordFunction> record_;
};

}  // namespace perfprobe
