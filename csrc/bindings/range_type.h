// The type behind `perfprobe.range`. It uses the interpreter's C API directly: through pybind11,
// entering and leaving would cost several times as much as the range itself.
#pragma once

#include <cstdint>

#include <Python.h>

namespace perfprobe {

// Returns a new type; nullptr with an exception set.
PyObject* make_range_type();

// Begins a range of this name (a str) and returns its token; 0 if no tool listens.
int64_t begin_range(PyObject* name);

}  // namespace perfprobe
