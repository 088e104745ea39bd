// What the log of steps shares with the sampler and the observer of garbage collections. One
// recording runs in a process at a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfprobe {

// False in steps that are not recorded: the sampler and others then pause.
inline std::atomic<bool> is_watching{true};
// Whether a step of a window runs, or there are no windows: outside of them GPUs and ranges are not
// recorded. Steps that are left out within a window (--baseline) do not count as outside.
inline std::atomic<bool> is_in_window{true};
// Called on the loop's thread when this has changed; nullptr if nobody waits for it.
inline std::atomic<void (*)()> window_changed{nullptr};
// Duration of all garbage collections so far, on all threads.
inline std::atomic<int64_t> collected_ns{0};

}  // namespace perfprobe
