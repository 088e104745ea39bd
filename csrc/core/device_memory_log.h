// What torch's allocator for GPUs holds at the ends of steps, into the recording.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/device_memory_port.h"
#include "core/recorder.h"
#include "core/row_table.h"

namespace perfprobe {

// Never destroyed: the writer may still call it.
class DeviceMemoryLog final : public DeviceMemoryPort {
 public:
  explicit DeviceMemoryLog(Recorder& recorder);
  DeviceMemoryLog(const DeviceMemoryLog&) = delete;
  DeviceMemoryLog& operator=(const DeviceMemoryLog&) = delete;

  void start();
  // Reads once more, and writes the rest.
  void stop();
  void add(const DeviceMemory& reading) override;
  void set_reader(void (*read)()) override { read_ = read; }
  [[nodiscard]] int64_t readings() const { return readings_; }

  // Of the log that runs: perfprobe.step() ends a step.
  static void mark();
  [[nodiscard]] static bool is_running();

 private:
  static void ring(void* self);
  void beat();

  Recorder& recorder_;
  std::atomic<void (*)()> read_{nullptr};
  std::mutex mutex_;
  bool runs_ = false;
  std::atomic<int64_t> readings_{0};
  RowTable<DeviceMemory> rows_;
};

}  // namespace perfprobe
