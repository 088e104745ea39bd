// Sees a program's loop by the ranges that torch itself sets around its parts: the loader's `next`,
// an optimizer's step, a step of torch.profiler. Operators are not seen, and cost nothing.
#pragma once

#include <Python.h>

#include "core/loop_port.h"

namespace perfprobe {

// From now on the port is told, and switches the observer on and off (`switch_observer`).
// optimizer: the class torch.optim.Optimizer, kept for ever. Needs the GIL.
void watch_loop(LoopPort& port, PyObject* optimizer);
void unwatch_loop();
// In a forked child that records nothing: removes the callbacks that it got from its parent.
void let_go_of_loop_in_child();

}  // namespace perfprobe
