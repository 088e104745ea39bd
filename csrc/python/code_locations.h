// Decodes line numbers of instructions from a copy of a code object's location table.
#pragma once

#include <cstdint>
#include <span>

namespace perfprobe {

// Returns the line of the instruction at byte `offset`; -1 if the compiler gave it none or the
// table ends before. `table`: co_linetable since 3.11 (Objects/locations.md of CPython).
int32_t line_of_instruction(std::span<const uint8_t> table, int32_t first_line, int32_t offset);

}  // namespace perfprobe
