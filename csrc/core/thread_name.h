#pragma once

#include <cstdint>
#include <string>

namespace perfprobe {

// Returns the kernel's name of a thread of this process, as in rows of threads that ran operators;
// "" if it does not exist.
std::string thread_name(int64_t os_thread);

}  // namespace perfprobe
