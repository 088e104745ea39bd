// By which module a tree is named whose outermost called module is one that the program does not
// know by that name: of `agent.actor(x)` the agent, which is not on the stack as a module; of
// `solve(net)`, where a library puts a module of its own around `net` and calls that, `net`.
#pragma once

#include <functional>

#include <Python.h>

#include "python/user_code.h"

namespace perfprobe {

// Both borrowed.
struct ModuleOwner {
  // The outermost nn.Module whose tree holds the module, or what that was put around; itself where
  // there is none.
  PyObject* outermost;
  // Of a library's that was put around another one: that, as far as the user's own code can have
  // it, but not what is around it. nullptr for none.
  PyObject* wrapped;
};

// Both of those that the code of this thread's frames can have got it from: their variables, the
// globals they mention, and of these the attributes they mention. Of a module that is named already
// only the direct parts are looked at: what it had before has a name. Needs the GIL, runs no user
// code, and takes some microseconds: only for a module that is new.
ModuleOwner find_owner(PyObject* module, const std::function<bool(PyObject*)>& is_named,
                       const UserCode& users);

}  // namespace perfprobe
