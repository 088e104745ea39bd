#include "gpu/nvml.h"

#include <cstdlib>
#include <dlfcn.h>

namespace perfprobe {
namespace {

// nvmlClockType_t and nvmlTemperatureSensors_t in nvml.h.
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuSensor = 0;
constexpr unsigned kSecondVersion = 2U << 24U;  // of a struct with this size, in its first field

std::string nvml_path() {
  const char* named = std::getenv("PERFPROBE_NVML");
  return named == nullptr || *named == '\0' ? "libnvidia-ml.so.1" : named;
}

}  // namespace

Nvml::Nvml() : path_(nvml_path()) {}

template <class Function>
Function Nvml::function(const char* name) const {
  return reinterpret_cast<Function>(dlsym(library_, name));
}

std::optional<CuptiFault> Nvml::open() {
  library_ = dlopen(path_.c_str(), RTLD_NOW);
  if (library_ == nullptr)
    return CuptiFault{path_ + " cannot be loaded", "install the library NVML of the NVIDIA driver"};
  const auto initialise = function<int (*)()>("nvmlInit_v2");
  find_ = function<decltype(find_)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (initialise == nullptr || find_ == nullptr)
    return CuptiFault{
        path_ + " has no " + (initialise == nullptr ? "nvmlInit_v2" : "device by bus"),
        "update the NVIDIA driver"};
  if (const int code = initialise(); code != 0)
    return CuptiFault{"NVML does not start (nvmlInit_v2: " + std::to_string(code) + ")",
                      "see what `nvidia-smi` says"};
  get_clock_ = function<decltype(get_clock_)>("nvmlDeviceGetClockInfo");
  get_temperature_ = function<decltype(get_temperature_)>("nvmlDeviceGetTemperature");
  get_power_ = function<decltype(get_power_)>("nvmlDeviceGetPowerUsage");
  get_utilization_ = function<decltype(get_utilization_)>("nvmlDeviceGetUtilizationRates");
  get_memory_ = function<decltype(get_memory_)>("nvmlDeviceGetMemoryInfo");
  get_memory_v2_ = function<decltype(get_memory_v2_)>("nvmlDeviceGetMemoryInfo_v2");
  get_reasons_ = function<decltype(get_reasons_)>("nvmlDeviceGetCurrentClocksEventReasons");
  if (get_reasons_ == nullptr)  // its name before driver 535
    get_reasons_ = function<decltype(get_reasons_)>("nvmlDeviceGetCurrentClocksThrottleReasons");
  return std::nullopt;
}

Nvml::Device Nvml::find_device(const std::string& bus_id) const {
  Device device = nullptr;
  return !bus_id.empty() && find_(bus_id.c_str(), &device) == 0 ? device : nullptr;
}

GpuStateRow Nvml::read(Device device) const {
  GpuStateRow state;
  state.sm_clock_mhz = clock_mhz(device, kSmClock);
  state.memory_clock_mhz = clock_mhz(device, kMemoryClock);
  state.power_mw = ask(get_power_, device);
  state.throttle = ask(get_reasons_, device);
  unsigned degrees = 0;
  if (get_temperature_ != nullptr && get_temperature_(device, kGpuSensor, &degrees) == 0)
    state.temperature_c = degrees;
  Utilization utilization{};
  if (get_utilization_ != nullptr && get_utilization_(device, &utilization) == 0)
    state.utilization_percent = utilization.gpu;
  state.used_bytes = used_bytes(device);
  return state;
}

int64_t Nvml::used_bytes(Device device) const {
  MemoryV2 parts{};
  parts.version = sizeof(MemoryV2) | kSecondVersion;
  if (get_memory_v2_ != nullptr && get_memory_v2_(device, &parts) == 0)
    return static_cast<int64_t>(parts.used);
  Memory memory{};
  if (get_memory_ != nullptr && get_memory_(device, &memory) == 0)
    return static_cast<int64_t>(memory.used);
  return -1;
}

template <class Value>
int64_t Nvml::ask(int (*get)(Device, Value*), Device device) const {
  Value value = 0;
  return get != nullptr && get(device, &value) == 0 ? static_cast<int64_t>(value) : -1;
}

int64_t Nvml::clock_mhz(Device device, int domain) const {
  unsigned mhz = 0;
  return get_clock_ != nullptr && get_clock_(device, domain, &mhz) == 0 ? int64_t{mhz} : -1;
}

}  // namespace perfprobe
