// What the log of steps shares with the sampler and the observer of garbage collections. One
// recording runs in a process at a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfprobe {

// False in steps that are not recorded: the sampler and others then pause.
inline std::atomic<bool> is_watching{true};
// Duration of all garbage collections so far, on all threads.
inline std::atomic<int64_t> collected_ns{0};

}  // namespace perfprobe
