// Shared by both injections: the connection to the recorder's module in this process, and the
// libraries in the folder of this one.
#pragma once

#include <cstdint>

#include "gpu/range_sink.h"

namespace perfprobe {

// nullptr until the recorder's module has connected. A process that only inherited the environment
// of a recorded one never has a sink and pays nothing.
const RangeSink* sink();

// The file that contains this address, "?" if not known.
const char* library_of(const void* address);

// The exported function at this address, or else its file.
const char* symbol_of(const void* address);

// Whether the address is in an extension module in the folder of this library. Ranges that
// perfprobe itself emits are recorded in another way.
bool is_own_module(const void* address);

}  // namespace perfprobe
