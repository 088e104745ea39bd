// What other extension modules hand over: a pointer in a capsule, under a name that says its type.
#pragma once

#include <pybind11/pybind11.h>

namespace perfprobe {

// Raises what Python raises when the capsule is none, or of another name.
template <class Pointed>
Pointed& pointed_by(const pybind11::object& capsule, const char* name) {
  auto* pointer = static_cast<Pointed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (pointer == nullptr)
    throw pybind11::error_already_set();
  return *pointer;
}

}  // namespace perfprobe
