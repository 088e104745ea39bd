// Compares the layout in the headers with the interpreter's description of its own: `debug_offsets`
// in _PyRuntime, from CPython 3.13 on.
#pragma once

#include <cstddef>
#include <string>

namespace perfprobe {

// Returns the first field that lies elsewhere in the running interpreter; empty if none does, or
// before 3.13.
std::string difference_of_offsets();

// The same for a description of this many bytes at this address.
std::string difference_of_offsets(const void* described);
size_t described_bytes();

}  // namespace perfprobe
