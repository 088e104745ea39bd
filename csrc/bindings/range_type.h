// The type behind `perfprobe.range`, by the interpreter's own interface: through pybind11 entering
// and leaving would cost several times what the range itself does.
#pragma once

#include <cstdint>

#include <Python.h>

namespace perfprobe {

// A new type, nullptr with an exception set.
PyObject* make_range_type();

// A range of this name (a str): its token, 0 where no tool listens.
int64_t begin_range(PyObject* name);

}  // namespace perfprobe
