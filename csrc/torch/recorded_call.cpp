#include "torch/recorded_call.h"

#include <new>

#include <torch/csrc/autograd/python_variable.h>

#include "torch/observer.h"

namespace perfprobe {
namespace {

c10::IValue value_of(PyObject* argument) {
  if (THPVariable_CheckExact(argument))
    return THPVariable_Unpack(argument);
  if (PyLong_CheckExact(argument)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(argument, &overflow);
    if (overflow == 0)
      return static_cast<int64_t>(value);
  }
  if (PyFloat_CheckExact(argument))
    return PyFloat_AS_DOUBLE(argument);
  return {};
}

}  // namespace

RecordedCall::RecordedCall(const char* name, at::RecordScope scope, PyObject* const* arguments,
                           size_t count) {
  try {
    c10::SmallVector<c10::IValue, 16> inputs;
    for (size_t i = 0; i < count; ++i)
      inputs.push_back(value_of(arguments[i]));
    record_.emplace(own_callbacks(scope));
    record_->before(name, c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()));
  } catch (const std::bad_alloc&) {
    record_.reset();  // the call is not recorded; the program goes on
  }
}

}  // namespace perfprobe
