// Ranges of `perfprobe.range`, sent to the recording and to tools that listen through NVTX or ITT.
#pragma once

#include <cstdint>

namespace perfprobe::own_ranges {

// Whether a range that begins now reaches anyone. The first call looks for listening tools.
bool is_wanted();
// Returns a token for `end` on the same thread; 0 if nobody listens.
int64_t begin(const char* name);
void end(int64_t token);

}  // namespace perfprobe::own_ranges
