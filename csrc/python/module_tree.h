// Reads trees of nn.Modules without running code of their classes. Needs the GIL.
#pragma once

#include <Python.h>

namespace perfprobe {

// Larger trees are only read up to this number of modules.
constexpr size_t kModuleLimit = 65'536;
// Modules nested as wrappers are only searched to this depth.
constexpr size_t kMostAround = 16;

// Returns a dict stored in an nn.Module, without running a __getattr__ or property of its class.
// Borrowed; nullptr for none.
inline PyObject* own_dict(PyObject* module, const char* name) {
  PyObject* attributes = PyObject_GenericGetDict(module, nullptr);
  if (attributes == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* found =
      PyDict_CheckExact(attributes) != 0 ? PyDict_GetItemString(attributes, name) : nullptr;
  Py_DECREF(attributes);  // the module keeps it alive
  return found != nullptr && PyDict_Check(found) != 0 ? found : nullptr;
}

inline PyObject* child_modules(PyObject* module) {
  return own_dict(module, "_modules");
}

// Returns the only child of a module; nullptr if it has none or several. Borrowed.
inline PyObject* only_part(PyObject* module) {
  PyObject* children = child_modules(module);
  PyObject* child = nullptr;
  PyObject* found = nullptr;
  for (Py_ssize_t at = 0;
       children != nullptr && PyDict_Next(children, &at, nullptr, &child) != 0;) {
    if (child == Py_None)
      continue;
    if (found != nullptr)
      return nullptr;
    found = child;
  }
  return found;
}

}  // namespace perfprobe
