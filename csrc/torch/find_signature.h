// The signature of an operator's inputs as an id.
#pragma once

#include <ATen/record_function.h>

#include "torch/thread_state.h"

namespace perfprobe {

// kNone without inputs. is_thorough: also look at the values of tensors in later calls.
int32_t find_signature(ThreadState& state, const at::RecordFunction& function, const NameSlot& slot,
                       bool is_thorough);

}  // namespace perfprobe
