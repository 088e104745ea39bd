// Replaces a function of a class or module and records its calls.
#pragma once

#include <ATen/record_function.h>
#include <Python.h>

namespace perfprobe {

// Returns a callable that does what `function` does, has its attributes and binds to objects if
// `function` is a Python function. `__wrapped__` is the function. Its calls are recorded while a
// recording runs; otherwise a call costs some 100 ns more.
//
// names: a str, the name of all calls; or a dict from the address (`id`) of the object whose method
// it is to the name. For an unknown object `name_of(object)` returns its name, or None to not
// record the call. Needs the GIL. Returns a new reference, or nullptr with a Python error set.
PyObject* wrap_method(PyObject* function, PyObject* names, PyObject* name_of,
                      at::RecordScope scope);

}  // namespace perfprobe
