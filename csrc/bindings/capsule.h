// Pointers that other extension modules pass in capsules. The capsule's name states the type.
#pragma once

#include <pybind11/pybind11.h>

namespace perfprobe {

// Raises if the object is not a capsule or has another name.
template <class Pointed>
Pointed& pointed_by(const pybind11::object& capsule, const char* name) {
  auto* pointer = static_cast<Pointed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (pointer == nullptr)
    throw pybind11::error_already_set();
  return *pointer;
}

}  // namespace perfprobe
