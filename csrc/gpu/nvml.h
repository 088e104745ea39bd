// NVML, NVIDIA's library for the state of a device, looked up at run time. It comes with the
// driver. Its calls may take milliseconds, so none is made on a thread of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpu/cupti_api.h"
#include "gpu/gpu_row_types.h"

namespace perfprobe {

class Nvml {
 public:
  using Device = struct nvmlDevice_st*;

  // Make it on a thread of the program, which may change the environment.
  Nvml();

  // Loads and initialises it. Never undone: the program may use it too.
  std::optional<CuptiFault> open();
  // The device at this address on the PCI bus; null if NVML does not know it. CUDA's own numbers
  // are others: CUDA_VISIBLE_DEVICES leaves devices out and sorts them.
  [[nodiscard]] Device find_device(const std::string& bus_id) const;
  // Without time and number.
  [[nodiscard]] GpuStateRow read(Device device) const;

 private:
  template <class Function>
  Function function(const char* name) const;
  template <class Value>
  [[nodiscard]] int64_t ask(int (*get)(Device, Value*), Device device) const;
  [[nodiscard]] int64_t used_bytes(Device device) const;
  [[nodiscard]] int64_t clock_mhz(Device device, int domain) const;

  struct Utilization {
    unsigned gpu, memory;
  };
  // nvmlMemory_t, and nvmlMemory_v2_t, which drivers have since 510. `used` of the first one holds
  // the driver's own reserve too, 0.5 GB on an H100; nvidia-smi shows that of the second.
  struct Memory {
    unsigned long long total, free, used;
  };
  struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
  };

  const std::string path_;
  void* library_ = nullptr;
  int (*find_)(const char*, Device*) = nullptr;
  // Null if this version does not have it.
  int (*get_clock_)(Device, int, unsigned*) = nullptr;
  int (*get_temperature_)(Device, int, unsigned*) = nullptr;
  int (*get_power_)(Device, unsigned*) = nullptr;
  int (*get_reasons_)(Device, unsigned long long*) = nullptr;
  int (*get_utilization_)(Device, Utilization*) = nullptr;
  int (*get_memory_)(Device, Memory*) = nullptr;
  int (*get_memory_v2_)(Device, MemoryV2*) = nullptr;
};

}  // namespace perfprobe
