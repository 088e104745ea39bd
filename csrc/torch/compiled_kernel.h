// Records kernels that torch.compile generated, which torch calls without notifying observers.
#pragma once

#include <Python.h>

namespace perfprobe {

// Returns a callable that does what `kernel` does. While a recording runs, its calls are recorded
// as operators with this name (a str); otherwise a call costs some 10 ns more. Its `__wrapped__` is
// the kernel. Needs the GIL. Returns a new reference, or nullptr with a Python error set.
PyObject* wrap_compiled_kernel(PyObject* name, PyObject* kernel);

}  // namespace perfprobe
