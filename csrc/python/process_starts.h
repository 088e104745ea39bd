// Reports processes that the program starts without os.fork: by subprocess, os.system,
// os.posix_spawn. It uses the interpreter's audit events, so no function of the program is
// replaced.
#pragma once

#include <Python.h>

namespace perfprobe {

// From now on calls `told(event, arguments)` before each start, on the thread that starts it;
// nullptr stops that. The audit hook itself cannot be removed. Needs the GIL. Returns false with a
// Python exception set.
bool tell_of_process_starts(PyObject* told);

}  // namespace perfprobe
