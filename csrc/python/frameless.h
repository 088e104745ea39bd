// Callables around perfprobe's and the program's Python functions that have no frame of their own.
// So no traceback shows them, no profile function sees them, and no signal can end them half-way.
#pragma once

#include <Python.h>

namespace perfprobe {

// Returns a callable that runs `function` while signals are held; see `HeldSignals`. An attribute
// of a class becomes a method. New reference; nullptr with an exception set.
PyObject* make_undisturbed(PyObject* function);

// Returns the same for the `__enter__` of a context manager whose `__exit__` is `leave`. From 3.14
// on, Python looks for signals before the block begins: if a handler raises then, it calls `leave`.
PyObject* make_entering(PyObject* enter, PyObject* leave);

// Returns a callable that calls `before(*arguments)`, `function`, and
// `after(succeeded, result, *arguments)`, whose result is the result of the call unless `function`
// raised. Signals are held during `before` and `after`. Either may be nullptr.
PyObject* wrap_around(PyObject* function, PyObject* before, PyObject* after);

}  // namespace perfprobe
