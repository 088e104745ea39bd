// NVIDIA's driver, looked up at run time: whether it is there, what devices it has. No call of
// CUPTI may be made before: without a driver some of its versions crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cupti_api.h"

namespace perfprobe {

// Numbers are -1 where the driver does not say.
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
  // `library`: where to look instead of libcuda.so.1. Initialises CUDA (cuInit): to be called only
  // in a process that is about to use CUDA itself, for its forked children cannot any more.
  std::optional<CuptiFault> open(void* library);

  [[nodiscard]] int version() const { return version_; }  // 13000; -1 not known
  [[nodiscard]] const std::vector<GpuDevice>& devices() const { return devices_; }
  // Whether any device is in use by this process; true where the driver does not say.
  [[nodiscard]] bool has_context() const;
  // Makes one call of the runtime, if it is loaded, and one of the driver; both without effect.
  void make_traced_call() const;
  // How long one such call takes, the best of a few rounds; -1 where there is none.
  [[nodiscard]] int64_t traced_call_ns() const;

 private:
  template <class Function>
  Function find(const char* name) const;
  [[nodiscard]] GpuDevice describe(int ordinal) const;

  void* library_ = nullptr;
  int version_ = -1;
  std::vector<GpuDevice> devices_;
};

}  // namespace perfprobe
