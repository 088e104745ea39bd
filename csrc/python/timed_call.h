// Replaces a function in a child process and adds the time of its calls to that process's row of
// the sheet. It has no frame in tracebacks and runs no Python code of perfprobe.
#pragma once

#include <Python.h>

#include "core/child_sheet.h"

namespace perfprobe {

struct TimedCells {
  size_t row;
  ChildCell time;  // cell for the wall time of the calls
  int calls = -1;  // ChildCell for the number of calls without an error; all calls update `last_ns`
  int first = -1;  // ChildCell for the start of the first of them
  int64_t most_free = -1;  // what `free` returns for an empty queue
};

// Returns a callable that does what `function` does and binds to objects as a Python function would
// if `function` is one. It has no other attributes. free: a C function that returns how many more
// items a queue accepts, asked before each call; nullptr for none. Returns a new reference, or
// nullptr with a Python error set.
PyObject* wrap_timed(PyObject* function, ChildSheet& sheet, const TimedCells& cells,
                     PyObject* free);

}  // namespace perfprobe
