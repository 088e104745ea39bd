// What the code of the calling thread's frames can name: their variables, and the globals they
// mention.
#pragma once

#include <vector>

#include <Python.h>

namespace perfprobe {

// One Python frame. All borrowed: the frame keeps it alive.
struct FrameValues {
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  std::vector<PyObject*> variables;  // values of arguments, locals, cells
};

// The frames of this thread, innermost first, at most so many. Needs the GIL and runs no user code;
// while Python code of this thread does not run on, they stay as they are.
std::vector<FrameValues> read_frame_values(size_t most);

}  // namespace perfprobe
