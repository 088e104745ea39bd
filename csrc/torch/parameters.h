// Which module holds the parameter that a node of backward adds a gradient to.
#pragma once

#include "torch/thread_state.h"

namespace perfprobe {

// `open` is an AccumulateGrad that is about to run on this thread, with its signature set. Its node
// has no number: the module that holds the parameter stands for it, also for the engine's row
// around it. None where no module is known to, or where something else than the engine runs it.
void set_holder(ThreadState& state, OpenOperator* parent, OpenOperator& open);

}  // namespace perfprobe
