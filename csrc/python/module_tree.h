// The trees that nn.Modules make, past any code of their classes. Needs the GIL.
#pragma once

#include <Python.h>

namespace perfprobe {

// A tree beyond this is looked at up to here.
constexpr size_t kModuleLimit = 65'536;

// The `_modules` dict of an nn.Module, past any __getattr__ or property of its class. Borrowed.
inline PyObject* child_modules(PyObject* module) {
  PyObject* attributes = PyObject_GenericGetDict(module, nullptr);
  if (attributes == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* children =
      PyDict_CheckExact(attributes) != 0 ? PyDict_GetItemString(attributes, "_modules") : nullptr;
  Py_DECREF(attributes);  // the module keeps it alive
  return children != nullptr && PyDict_Check(children) != 0 ? children : nullptr;
}

}  // namespace perfprobe
