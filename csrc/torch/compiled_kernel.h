// A kernel that torch.compile generated: torch calls it without telling its observers.
#pragma once

#include <Python.h>

namespace perfprobe {

// A callable that does what `kernel` does, whose calls are recorded as operators of this name (a
// str) while a recording runs: some 10 ns a call when none does. Its `__wrapped__` is the kernel.
// Needs the GIL. A new reference, nullptr with a Python error set.
PyObject* wrap_compiled_kernel(PyObject* name, PyObject* kernel);

}  // namespace perfprobe
