// Finds the module that should name a module tree, if the outermost module on the stack is not one
// that the program knows. For `agent.actor(x)` it is the agent, which is not on the stack as a
// module. For `solve(net)`, if a library wraps `net` in a module of its own and calls that, it is
// `net`.
#pragma once

#include <functional>

#include <Python.h>

#include "core/user_code.h"

namespace perfprobe {

// Both are borrowed.
struct ModuleOwner {
  // The outermost nn.Module whose tree contains the module or the one it wraps; the module itself
  // if there is none.
  PyObject* outermost;
  // For a library's module that wraps others: the first of these that the user's code can reach.
  // nullptr for none.
  PyObject* wrapped;
};

// Searches what the code of this thread's frames can reach: their variables, the globals they
// mention, and attributes of these that they mention. For a module that already has a name only the
// direct parts are searched, because its earlier parts have names. Needs the GIL and runs no user
// code. Takes some microseconds, so it is only called for new modules.
ModuleOwner find_owner(PyObject* module, const std::function<bool(PyObject*)>& is_named,
                       const UserCode& users);

}  // namespace perfprobe
