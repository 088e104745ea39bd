// What code that reads Python objects without running user code has in common. Needs the GIL.
#pragma once

#include <string_view>

#include <Python.h>

namespace perfprobe {

// The collector runs finalisers and weak-reference callbacks, which are user code: it could change
// what is just being read.
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
