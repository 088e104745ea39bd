// What both injections share: the recorder's module, where it is in this process, and the libraries
// beside this one.
#pragma once

#include <cstdint>

#include "gpu/range_sink.h"

namespace perfprobe {

// nullptr until the recorder's module has connected: a process that only inherited the environment
// of a recorded one has none, and pays nothing.
const RangeSink* sink();

// The file that holds this address, "?" where it is not known.
const char* library_of(const void* address);

// The exported function at this address, or its file.
const char* symbol_of(const void* address);

// Whether it lies in an extension module beside this library: ranges that perfprobe itself emits
// are recorded by another way.
bool is_own_module(const void* address);

}  // namespace perfprobe
