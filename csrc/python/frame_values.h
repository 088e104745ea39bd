// Reads the objects that the code of the calling thread's frames can name: variables, and the
// globals it mentions.
#pragma once

#include <vector>

#include <Python.h>

namespace perfprobe {

// One Python frame. All references are borrowed; the frame keeps the objects alive.
struct FrameValues {
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  std::vector<PyObject*> variables;  // values of arguments, locals, cells
};

// Returns the frames of this thread, innermost first, at most this many. Needs the GIL and runs no
// user code. They stay valid until Python code of this thread runs on.
std::vector<FrameValues> read_frame_values(size_t most);

}  // namespace perfprobe
