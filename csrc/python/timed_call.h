// Stands in the place of a function in a child process and adds what its calls took to that
// process's row of the sheet. No frame of it is in a traceback, and it runs no Python of ours.
#pragma once

#include <Python.h>

#include "core/child_sheet.h"

namespace perfprobe {

struct TimedCells {
  size_t row;
  ChildCell time;          // to which the wall time of each call is added
  int calls = -1;          // a ChildCell that counts those without an error; all are signs of life
  int first = -1;          // one that holds when the first of them began
  int64_t most_free = -1;  // of what `free` tells when nothing lies in the queue
};

// A callable that does what `function` does and, where that is a Python function, binds to objects
// as it does; it has no other attributes. free: a C function that tells how many more a queue
// takes, asked before each call; nullptr for none. A new reference, nullptr with a Python error
// set.
PyObject* wrap_timed(PyObject* function, ChildSheet& sheet, const TimedCells& cells,
                     PyObject* free);

}  // namespace perfprobe
