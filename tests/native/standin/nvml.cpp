// The stand-in's NVML: what a device says of itself depends on its place on the PCI bus.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "standin.h"
#include "state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Board {
  unsigned bus = 0;
  std::atomic<uint64_t> readings{0};
};

struct Utilization {
  unsigned gpu, memory;
};

struct Memory {
  unsigned long long total, free, used;
};

struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

constexpr unsigned long long kTotal = 1ULL << 40;
constexpr unsigned long long kReserved = 480ULL << 20;
constexpr int kArgumentVersionMismatch = 25;

constexpr unsigned kBuses = 256;

Board& board(unsigned bus) {
  static auto& boards = *new std::array<Board, kBuses>;
  boards[bus % kBuses].bus = bus;
  return boards[bus % kBuses];
}

// Gives out a value, unless a setting refuses it: NOT_SUPPORTED is 3.
template <class Value>
int give(const char* function, Value value, Value* to) {
  if (const uint32_t code = standin::failure(function); code != 0)
    return static_cast<int>(code);
  *to = value;
  return 0;
}

}  // namespace

EXPORT uint64_t standin_state_readings(uint32_t bus) {
  return board(bus).readings;
}

EXPORT int nvmlInit_v2() {
  return static_cast<int>(standin::failure("nvmlInit_v2"));
}

// 0000:3b:00.0
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Board** device) {
  const auto bus = static_cast<unsigned>(std::strtoul(bus_id + 5, nullptr, 16));
  return give("nvmlDeviceGetHandleByPciBusId_v2", &board(bus), device);
}

EXPORT int nvmlDeviceGetClockInfo(Board* device, int domain, unsigned* mhz) {
  if (domain == 1)
    std::this_thread::sleep_for(
        std::chrono::milliseconds(standin::setting("STANDIN_SLOW_NVML", 0)));
  return give("nvmlDeviceGetClockInfo", (domain == 1 ? 1000 : 2000) + device->bus, mhz);
}

EXPORT int nvmlDeviceGetPowerUsage(Board* device, unsigned* power_mw) {
  return give("nvmlDeviceGetPowerUsage", 300'000 + device->bus, power_mw);
}

EXPORT int nvmlDeviceGetTemperature(Board* device, int /*sensor*/, unsigned* degrees) {
  return give("nvmlDeviceGetTemperature", 40 + device->bus, degrees);
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Board* device, unsigned long long* reasons) {
  constexpr uint64_t kIdle = 1;
  const std::string name = "STANDIN_THROTTLE_" + std::to_string(device->bus);
  const unsigned long long now = standin::setting(name.c_str(), kIdle);
  return give("nvmlDeviceGetCurrentClocksEventReasons", now, reasons);
}

EXPORT int nvmlDeviceGetUtilizationRates(Board* /*device*/, Utilization* utilization) {
  const auto percent = static_cast<unsigned>(standin::setting("STANDIN_UTILIZATION", 90));
  return give("nvmlDeviceGetUtilizationRates", {percent, 0}, utilization);
}

// The last question of a reading.
EXPORT int nvmlDeviceGetMemoryInfo_v2(Board* device, MemoryV2* memory) {
  if (memory->version != (sizeof(MemoryV2) | (2U << 24U)))
    return kArgumentVersionMismatch;
  const auto used = static_cast<unsigned long long>(device->bus) << 20;
  const MemoryV2 parts{memory->version, kTotal, kReserved, kTotal - kReserved - used, used};
  const int code = give("nvmlDeviceGetMemoryInfo_v2", parts, memory);
  device->readings += code == 0 ? 1 : 0;
  return code;
}

// What a driver does: the reserve counts as used. Asked only if the other one is refused.
EXPORT int nvmlDeviceGetMemoryInfo(Board* device, Memory* memory) {
  ++device->readings;
  const auto used = (static_cast<unsigned long long>(device->bus) << 20) + kReserved;
  return give("nvmlDeviceGetMemoryInfo", {kTotal, kTotal - used, used}, memory);
}
