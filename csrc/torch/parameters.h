// Finds the module that holds the parameter to which a backward node adds a gradient.
#pragma once

#include "torch/thread_state.h"

namespace perfprobe {

// `open` is an AccumulateGrad that is about to run on this thread, with its signature set. Its node
// has no number, so the module that holds the parameter takes its place, also in the engine's row
// around it. None if no module is known to hold it, or if something other than the engine runs it.
void set_holder(ThreadState& state, OpenOperator* parent, OpenOperator& open);

}  // namespace perfprobe
