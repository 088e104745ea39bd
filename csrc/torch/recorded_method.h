// Stands in the place of a function of a class or module, and records its calls.
#pragma once

#include <ATen/record_function.h>
#include <Python.h>

namespace perfprobe {

// A callable that does what `function` does, has its attributes and, where that is a Python
// function, binds to objects as it does; `__wrapped__` is the function. While a recording runs its
// calls are recorded; some 100 ns a call when none does.
//
// names: a str, the name of all calls; or a dict of names by the address (`id`) of the object whose
// method it is. For one that is not there `name_of` is called with the object: its name, or None
// for a call that is not to be recorded. Needs the GIL. A new reference, nullptr with a Python
// error set.
PyObject* wrap_method(PyObject* function, PyObject* names, PyObject* name_of,
                      at::RecordScope scope);

}  // namespace perfprobe
