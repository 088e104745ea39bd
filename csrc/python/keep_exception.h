// Saves and restores the program's pending exception around calls of perfprobe.
#pragma once

#include <Python.h>

namespace perfprobe {

class KeepException {
 public:
  KeepException() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~KeepException() { PyErr_Restore(type_, value_, traceback_); }
  KeepException(const KeepException&) = delete;
  KeepException& operator=(const KeepException&) = delete;

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

}  // namespace perfprobe
