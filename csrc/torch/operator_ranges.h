// Sets a range for an operator that begins.
#pragma once

#include <memory>

#include <ATen/record_function.h>

#include "torch/thread_state.h"

namespace perfprobe {

// `open` is complete except for its times. An operator that may end on another thread becomes a
// free range, which the returned context ends by `end_async_range`. All others nest.
std::unique_ptr<at::ObserverContext> begin_range(ThreadState& state,
                                                 const at::RecordFunction& function,
                                                 const NameSlot& slot, OpenOperator* parent,
                                                 OpenOperator& open);
void end_async_range(at::ObserverContext& context);

}  // namespace perfprobe
