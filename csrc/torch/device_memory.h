// Reads what torch's allocator for GPUs holds at the ends of steps.
//
// The allocator counts anyway: a reading copies its counters under its lock, and neither waits for
// a device nor calls the driver. Steps are seen by the ranges that torch itself sets around an
// optimizer's step, the loader's `next` and a step of torch.profiler. Operators are not seen.
#pragma once

#include <string>

#include "core/device_memory_port.h"

namespace perfprobe {

void watch_device_memory(DeviceMemoryPort& port);
void unwatch_device_memory();
// Why the allocator cannot be read; empty if it can, or was not asked.
std::string device_memory_fault();

}  // namespace perfprobe
