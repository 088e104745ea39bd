// Finds the instructions with which `for` loops ask their iterators for the next item.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <Python.h>

namespace perfprobe {

using Offsets = std::pmr::vector<int32_t>;

// Returns the byte offsets, ascending, at which a frame stands while it asks. `bytecode`: that of a
// code object, also while it is specialised or instrumented. Loops are not found if a tool listens
// to their lines with sys.monitoring, which replaces these instructions.
Offsets next_instructions(std::span<const uint8_t> bytecode, std::pmr::memory_resource* memory);

// The bytecode of a living code object. Needs the GIL.
std::span<const uint8_t> bytecode_of(PyCodeObject* code);

}  // namespace perfprobe
