// Line numbers of a code object's instructions, read off a copy of its location table.
#pragma once

#include <cstdint>
#include <span>

namespace perfprobe {

// The line of the instruction at byte `offset`, -1 when the compiler gave it none or the table does
// not reach so far. `table`: co_linetable as it is since 3.11 (Objects/locations.md of CPython).
int32_t line_of_instruction(std::span<const uint8_t> table, int32_t first_line, int32_t offset);

}  // namespace perfprobe
