// Calls a function that may never return, such as a wait for a kernel that spins because the
// process it waits for has died.
#pragma once

#include <cstdint>
#include <functional>

namespace perfprobe {

// Runs `call` on a thread of its own. Returns whether it ended within the limit. If not, the thread
// is left behind until the process ends; what `call` uses must exist as long. False as well if no
// thread can be started.
bool ends_within(std::function<void()> call, int64_t limit_ns);

}  // namespace perfprobe
