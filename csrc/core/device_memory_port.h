// Through this the observer hands on what torch's allocator for GPUs holds.
//
// Crosses from one extension module to another: a vtable and PODs only, as RecorderPort.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/row_column.h"

namespace perfprobe {

// Name of the capsule that carries a DeviceMemoryPort*; raise the number with any change.
inline constexpr const char* kDeviceMemoryCapsule = "perfprobe.device_memory.1";

// One reading of one device. Peaks are since the program's start, or since it last reset them.
struct DeviceMemory {
  int64_t time_ns;
  int64_t device;
  int64_t allocated_bytes;      // in tensors
  int64_t reserved_bytes;       // taken from the device, with what is cached
  int64_t peak_bytes;           // of `allocated_bytes`
  int64_t reserved_peak_bytes;  // of `reserved_bytes`
  int64_t retries;              // how often the cache was emptied because the device was full

  static constexpr std::string_view kTable = "device_memory";
  static constexpr auto columns() {
    using Row = DeviceMemory;
    return std::array{column<&Row::time_ns>("time_ns", Values::climbing),
                      column<&Row::device>("device"),
                      column<&Row::allocated_bytes>("allocated_bytes"),
                      column<&Row::reserved_bytes>("reserved_bytes"),
                      column<&Row::peak_bytes>("peak_bytes"),
                      column<&Row::reserved_peak_bytes>("reserved_peak_bytes"),
                      column<&Row::retries>("retries")};
  }
};

class DeviceMemoryPort {
 public:
  virtual void add(const DeviceMemory& reading) = 0;
  // What reads all devices now. nullptr: no more.
  virtual void set_reader(void (*read)()) = 0;

 protected:
  ~DeviceMemoryPort() = default;
};

}  // namespace perfprobe
