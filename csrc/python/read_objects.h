// For code that reads Python objects without running user code. Needs the GIL.
#pragma once

#include <string_view>

#include <Python.h>

namespace perfprobe {

// Keeps the garbage collector from running: its finalisers and weak-reference callbacks are user
// code, which could change the objects being read.
class NoCollection {
 public:
  NoCollection() : was_enabled_(PyGC_Disable() != 0) {}
  ~NoCollection() {
    if (was_enabled_)
      PyGC_Enable();
  }
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;

 private:
  bool was_enabled_;
};

// Valid as long as the object.
inline std::string_view text_of(PyObject* unicode) {
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(unicode, &length);
  if (text == nullptr) {  // lone surrogates: a file name that is not UTF-8
    PyErr_Clear();
    return "(unprintable)";
  }
  return {text, static_cast<size_t>(length)};
}

}  // namespace perfprobe
