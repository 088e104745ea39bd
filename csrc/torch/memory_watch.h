// Records what torch's allocator for the CPU allocates and frees, without torch's profiler.
//
// A wrapper replaces the allocator and the deleter of each allocation. Storages keep the wrapper's
// address, so it is never destroyed. Each allocation and each free costs a clock read and a row.
#pragma once

#include <ATen/core/Tensor.h>

#include "torch/thread_state.h"

namespace perfprobe {

// Starts recording memory. Returns false if the allocator cannot be wrapped: the program uses one
// whose deleters cannot be replaced, or has replaced our wrapper since an earlier recording.
[[nodiscard]] bool watch_memory();
// Restores the allocator. Memory that is still in use is later freed without being recorded.
void unwatch_memory();
[[nodiscard]] bool watches_memory();
// Stops recording in a forked child.
void forget_memory_in_child();

// Records which storages hold the parameters and buffers of a module and its children, once for
// each root module. Needs the GIL.
void note_tensors(ThreadState& state, const void* root);
// Records which storage holds this parameter.
void note_parameter(ThreadState& state, const at::Tensor& parameter);

}  // namespace perfprobe
