// NVIDIA's driver, looked up at run time: whether it exists and what devices it has. CUPTI must not
// be called before: some versions crash without a driver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cupti_api.h"

namespace perfprobe {

// Numbers are -1 if the driver does not provide them.
struct GpuDevice {
  std::string name;
  int64_t memory_bytes = -1;
  int64_t compute_major = -1;
  int64_t compute_minor = -1;
  int64_t multiprocessors = -1;
  int64_t clock_khz = -1;
  int64_t memory_clock_khz = -1;
  int64_t memory_bus_bits = -1;
  int64_t l2_bytes = -1;
  int64_t multiprocessor_threads = -1;
};

class CudaDriver {
 public:
  // `library`: used instead of libcuda.so.1 if not null. Initialises CUDA (cuInit). Call it only in
  // a process that is about to use CUDA itself, because its forked children cannot use CUDA
  // afterwards.
  std::optional<CuptiFault> open(void* library);

  [[nodiscard]] int version() const { return version_; }  // 13000; -1 not known
  [[nodiscard]] const std::vector<GpuDevice>& devices() const { return devices_; }
  // Whether this process uses any device; true if the driver cannot tell.
  [[nodiscard]] bool has_context() const;
  // Waits until all work on the devices that this process uses has ended; for ever if it never
  // ends. Does nothing if the driver cannot tell which these are.
  void await_work() const;
  // Likewise of one device, by its number.
  [[nodiscard]] bool has_context(int ordinal) const;
  // Its address on the PCI bus: 0000:3b:00.0; "" if not known.
  [[nodiscard]] std::string bus_id(int ordinal) const;
  // Makes one runtime call, if the runtime is loaded, and one driver call. Neither has an effect.
  void make_traced_call() const;

 private:
  template <class Function>
  Function find(const char* name) const;
  [[nodiscard]] GpuDevice describe(int ordinal) const;
  [[nodiscard]] bool is_used(int ordinal, int& handle) const;
  void await_work_of(int handle) const;

  void* library_ = nullptr;
  int version_ = -1;
  std::vector<GpuDevice> devices_;
};

}  // namespace perfprobe
