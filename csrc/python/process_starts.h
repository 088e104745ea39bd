// Tells of the processes that the program starts without forking itself: subprocess, os.system,
// os.posix_spawn. By the interpreter's audit events, which need no function of the program
// replaced.
#pragma once

#include <Python.h>

namespace perfprobe {

// From now on `told(event, arguments)` is called before each start, in the thread that asks for it;
// nullptr: no more. The hook itself stays for the life of the process. Needs the GIL; false with a
// Python exception set.
bool tell_of_process_starts(PyObject* told);

}  // namespace perfprobe
