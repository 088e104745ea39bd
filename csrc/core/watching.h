// What those who watch the program all the time (samples, garbage collections) share with the log
// of steps. One recording of a process runs at a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfprobe {

// Whether they are to watch now: not in steps that are left out.
inline std::atomic<bool> is_watching{true};
// Time of garbage collections so far, on all threads.
inline std::atomic<int64_t> collected_ns{0};

}  // namespace perfprobe
