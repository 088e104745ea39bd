// Finds the id of the calling thread's Python stack, without the GIL if the stack is known.
#pragma once

#include <string>

#include "torch/thread_state.h"
#include "torch/user_lines.h"

namespace perfprobe {

// Sets the code of torch.nn.Module._wrapped_call_impl, whose first local is the called module.
void set_module_call(const void* code);

// `parent`: the operator around it, or nullptr. Returns the id of the stack under `open` and sets
// its frame and instruction; kNone without Python.
int32_t find_stack(ThreadState& state, const OpenOperator* parent, OpenOperator& open);

// Returns the user line that the calling thread is on; see UserLines. Takes the GIL.
std::string users_line(ThreadState& state, const UserLines& lines, bool in_backward);

}  // namespace perfprobe
