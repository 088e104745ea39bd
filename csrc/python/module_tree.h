// The trees that nn.Modules make, past any code of their classes. Needs the GIL.
#pragma once

#include <Python.h>

namespace perfprobe {

// A tree beyond this is looked at up to here.
constexpr size_t kModuleLimit = 65'536;
// Modules around one another, beyond which they are not searched.
constexpr size_t kMostAround = 16;

// A dict of an nn.Module's own, past any __getattr__ or property of its class. Borrowed; nullptr
// for none.
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

// The part of a module that has just one; nullptr for none. Borrowed.
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
