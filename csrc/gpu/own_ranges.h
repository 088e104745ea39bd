// Ranges of `perfprobe.range`: into the recording, and to whoever listens through NVTX and ITT.
#pragma once

#include <cstdint>

namespace perfprobe::own_ranges {

// Whether anybody hears of a range that begins now. The first call looks for listeners.
bool is_wanted();
// For `end` on the same thread; 0 where no tool listens.
int64_t begin(const char* name);
void end(int64_t token);

}  // namespace perfprobe::own_ranges
