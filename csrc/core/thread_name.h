#pragma once

#include <cstdint>
#include <string>

namespace perfprobe {

// What the kernel calls a thread of this process, as in the rows of threads that ran operators; ""
// when there is none of this number.
std::string thread_name(int64_t os_thread);

}  // namespace perfprobe
