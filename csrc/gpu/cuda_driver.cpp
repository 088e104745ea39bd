#include "gpu/cuda_driver.h"

#include <array>
#include <cstddef>
#include <dlfcn.h>
#include <utility>

#include "gpu/vendor_library.h"

namespace perfprobe {
namespace {

using GetNumber = int (*)(int*);

constexpr int kRelaxedCapture = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

GetNumber find_runtime_version() {
  void* runtime = find_mapped("libcudart.so");
  return runtime == nullptr ? nullptr
                            : reinterpret_cast<GetNumber>(dlsym(runtime, "cudaRuntimeGetVersion"));
}

// CUdevice_attribute in cuda.h.
constexpr std::array<std::pair<int64_t GpuDevice::*, int>, 8> kAttributes{{
    {&GpuDevice::compute_major, 75},
    {&GpuDevice::compute_minor, 76},
    {&GpuDevice::multiprocessors, 16},
    {&GpuDevice::clock_khz, 13},
    {&GpuDevice::memory_clock_khz, 36},
    {&GpuDevice::memory_bus_bits, 37},
    {&GpuDevice::l2_bytes, 38},
    {&GpuDevice::multiprocessor_threads, 39},
}};

}  // namespace

template <class Function>
Function CudaDriver::find(const char* name) const {
  return reinterpret_cast<Function>(dlsym(library_, name));
}

std::optional<CuptiFault> CudaDriver::open(void* library) {
  library_ = library != nullptr ? library : dlopen("libcuda.so.1", RTLD_NOW);
  if (library_ == nullptr)
    return CuptiFault{"there is no NVIDIA driver here (libcuda.so.1 cannot be loaded)",
                      "run where `nvidia-smi` lists a GPU"};
  const auto initialise = find<int (*)(unsigned)>("cuInit");
  const auto count_devices = find<GetNumber>("cuDeviceGetCount");
  if (initialise == nullptr || count_devices == nullptr)
    return CuptiFault{"the NVIDIA driver has no cuInit", "install the driver again"};
  if (const int code = initialise(0); code != 0)
    return CuptiFault{"the NVIDIA driver does not start (cuInit: " + std::to_string(code) + ")",
                      "see what `nvidia-smi` says"};
  int count = 0;
  if (count_devices(&count) != 0 || count <= 0)
    return CuptiFault{"the NVIDIA driver shows no device",
                      "see `nvidia-smi` and the variable CUDA_VISIBLE_DEVICES"};
  const auto get_version = find<GetNumber>("cuDriverGetVersion");
  if (get_version != nullptr && get_version(&version_) != 0)
    version_ = -1;
  for (int i = 0; i < count; ++i)
    devices_.push_back(describe(i));
  return std::nullopt;
}

GpuDevice CudaDriver::describe(int ordinal) const {
  GpuDevice device;
  const auto get_device = find<int (*)(int*, int)>("cuDeviceGet");
  int handle = 0;
  if (get_device == nullptr || get_device(&handle, ordinal) != 0)
    return device;
  std::array<char, 256> name{};
  const auto get_name = find<int (*)(char*, int, int)>("cuDeviceGetName");
  if (get_name != nullptr && get_name(name.data(), static_cast<int>(name.size()) - 1, handle) == 0)
    device.name = name.data();
  size_t bytes = 0;
  const auto get_bytes = find<int (*)(size_t*, int)>("cuDeviceTotalMem_v2");
  if (get_bytes != nullptr && get_bytes(&bytes, handle) == 0)
    device.memory_bytes = static_cast<int64_t>(bytes);
  const auto get_attribute = find<int (*)(int*, int, int)>("cuDeviceGetAttribute");
  for (const auto& [field, attribute] : kAttributes) {
    int value = 0;
    if (get_attribute != nullptr && get_attribute(&value, attribute, handle) == 0)
      device.*field = value;
  }
  return device;
}

// Returns whether the device has a primary context, which torch uses. handle: its CUdevice.
bool CudaDriver::is_used(int ordinal, int& handle) const {
  const auto get_device = find<int (*)(int*, int)>("cuDeviceGet");
  const auto get_state = find<int (*)(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int active = 0;
  return get_device != nullptr && get_state != nullptr && get_device(&handle, ordinal) == 0 &&
         get_state(handle, &flags, &active) == 0 && active != 0;
}

bool CudaDriver::has_context() const {
  for (int i = 0; i < static_cast<int>(devices_.size()); ++i) {
    if (has_context(i))
      return true;
  }
  return false;
}

bool CudaDriver::has_context(int ordinal) const {
  if (find<void*>("cuDeviceGet") == nullptr || find<void*>("cuDevicePrimaryCtxGetState") == nullptr)
    return true;
  int handle = 0;
  return is_used(ordinal, handle);
}

std::string CudaDriver::bus_id(int ordinal) const {
  const auto get_device = find<int (*)(int*, int)>("cuDeviceGet");
  const auto get_bus_id = find<int (*)(char*, int, int)>("cuDeviceGetPCIBusId");
  int handle = 0;
  std::array<char, 64> id{};
  if (get_device == nullptr || get_bus_id == nullptr || get_device(&handle, ordinal) != 0 ||
      get_bus_id(id.data(), static_cast<int>(id.size()) - 1, handle) != 0)
    return "";
  return id.data();
}

void CudaDriver::await_work() const {
  // Otherwise waiting would break a graph capture of another thread.
  const auto exchange_mode = find<GetNumber>("cuThreadExchangeStreamCaptureMode");
  if (int mode = kRelaxedCapture; exchange_mode != nullptr)
    static_cast<void>(exchange_mode(&mode));
  for (int i = 0; i < static_cast<int>(devices_.size()); ++i) {
    if (int handle = 0; is_used(i, handle))
      await_work_of(handle);
  }
}

void CudaDriver::await_work_of(int handle) const {
  using Context = void*;
  const auto retain = find<int (*)(Context*, int)>("cuDevicePrimaryCtxRetain");
  const auto release = find<int (*)(int)>("cuDevicePrimaryCtxRelease_v2");
  const auto set_current = find<int (*)(Context)>("cuCtxSetCurrent");
  const auto synchronize = find<int (*)()>("cuCtxSynchronize");
  Context context = nullptr;
  if (retain == nullptr || release == nullptr || set_current == nullptr || synchronize == nullptr ||
      retain(&context, handle) != 0)
    return;
  if (set_current(context) == 0)
    static_cast<void>(synchronize());
  static_cast<void>(set_current(nullptr));
  static_cast<void>(release(handle));
}

void CudaDriver::make_traced_call() const {
  int version = 0;
  for (const GetNumber call : {find_runtime_version(), find<GetNumber>("cuDriverGetVersion")}) {
    if (call != nullptr)
      call(&version);
  }
}

}  // namespace perfprobe
