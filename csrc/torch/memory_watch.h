// Records what torch's allocator for the CPU hands out and gets back, without torch's profiler.
//
// A wrapper takes the allocator's place and swaps the deleters of what it hands out. Storages keep
// the wrapper's address, so it is never destroyed. Cost if everything is known: a clock read and a
// row for each allocation and each free.
#pragma once

#include <ATen/core/Tensor.h>

#include "torch/thread_state.h"

namespace perfprobe {

// Begins with the recording that runs. Returns false if the program replaced the allocator by
// one whose deleters cannot be swapped, or since an earlier recording.
[[nodiscard]] bool watch_memory();
// Puts the allocator back. Memory that is still in use is later freed without being recorded.
void unwatch_memory();
[[nodiscard]] bool watches_memory();
// A forked child's memory is not recorded.
void forget_memory_in_child();

// Names the storages of a module's and its children's parameters and buffers, once for each root.
// Needs the GIL.
void note_tensors(ThreadState& state, const void* root);
// Names the storage of this parameter.
void note_parameter(ThreadState& state, const at::Tensor& parameter);

}  // namespace perfprobe
