// The Python stack of the calling thread as an id, without the GIL on a hit.
#pragma once

#include <string>

#include "torch/thread_state.h"
#include "torch/user_lines.h"

namespace perfprobe {

// The code of torch.nn.Module._wrapped_call_impl, whose first local is the module being called.
void set_module_call(const void* code);

// `parent`: the operator it runs in, or nullptr.
// The id of the stack under `open`, whose frame and instruction are filled in; kNone without
// Python.
int32_t find_stack(ThreadState& state, const OpenOperator* parent, OpenOperator& open);

// The line of the user's code that the calling thread is on; see UserLines. Takes the GIL.
std::string users_line(ThreadState& state, const UserLines& lines, bool in_backward);

}  // namespace perfprobe
