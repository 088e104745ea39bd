// What the log of steps shares with the sampler and the observer of garbage collections. One
// recording runs in a process at a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfprobe {

// False in steps that are not recorded: the sampler and others then pause.
inline std::atomic<bool> is_watching{true};
// True inside windows of steps, and if there are none. Outside of windows GPUs and ranges are not
// recorded. Untraced steps within a window (--baseline) count as inside.
inline std::atomic<bool> is_in_window{true};
// Called on the loop's thread when this has changed; nullptr if nobody waits for it.
inline std::atomic<void (*)()> window_changed{nullptr};
// Duration of all garbage collections so far, on all threads.
inline std::atomic<int64_t> collected_ns{0};

}  // namespace perfprobe
