// Whose part a module is that is called on its own: of `agent.actor(x)` the agent, which is not on
// the stack as a module.
#pragma once

#include <functional>

#include <Python.h>

namespace perfprobe {

// The outermost nn.Module whose tree holds `module`, of those that the code of this thread's
// frames can have got it from: their variables, the globals they mention, and of these the
// attributes they mention. `module` itself where there is none. Of a module that is named already
// only the direct parts are looked at: what it had before has a name. Borrowed. Needs the GIL, runs
// no user code, and takes some microseconds: only for a module that is new.
PyObject* find_owner(PyObject* module, const std::function<bool(PyObject*)>& is_named);

}  // namespace perfprobe
