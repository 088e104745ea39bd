// How soon the kernel gives a processor to a thread that wakes.
#pragma once

namespace perfprobe {

// Asks for short time slices for the calling thread: on a busy machine it then runs soon after it
// wakes, and not only where others stop. Linux 6.12 or newer (sched_attr.sched_runtime, see
// Documentation/scheduler/sched-eevdf.rst); older kernels ignore it.
void ask_for_short_slices();

}  // namespace perfprobe
