#include "torch/device_memory.h"

#include <atomic>
#include <mutex>
#include <pthread.h>

#include <ATen/record_function.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "core/clock.h"
#include "torch/observer.h"
#include "torch/registration.h"
#include "torch/step_parts.h"

namespace perfprobe {
namespace {

using c10::CachingAllocator::StatType;

std::atomic<DeviceMemoryPort*> current_devices{nullptr};
Registration device_registration;

// Reads one allocator for the rest of the process: it is never replaced.
class Devices {
 public:
  void read(DeviceMemoryPort& port) {
    const std::lock_guard lock(mutex_);
    if (!fault_.empty() || !is_ready())
      return;
    try {
      for (c10::DeviceIndex device = 0; device < count_; ++device)
        read_device(port, device);
    } catch (const c10::Error& error) {
      fault_ = error.what_without_backtrace();
    }
  }
  std::string fault() {
    const std::lock_guard lock(mutex_);
    return fault_;
  }

 private:
  static constexpr c10::DeviceIndex kMostDevices = 64;

  bool is_ready() {
    if (count_ > 0)
      return true;
    if (allocator_ == nullptr)
      allocator_ = find_allocator();
    if (allocator_ == nullptr || !allocator_->initialized())
      return false;
    count_devices();
    return true;
  }

  static c10::DeviceAllocator* find_allocator() try {
    return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::DeviceType::CUDA));
  } catch (const c10::Error&) {  // a build of torch without CUDA
    return nullptr;
  }

  // The allocator refuses devices that do not exist. If it refuses the first, it cannot be read.
  void count_devices() try {
    while (count_ < kMostDevices) {
      static_cast<void>(allocator_->getDeviceStats(count_));
      ++count_;
    }
  } catch (const c10::Error& error) {
    if (count_ == 0)
      fault_ = error.what_without_backtrace();
  }

  void read_device(DeviceMemoryPort& port, c10::DeviceIndex device) {
    constexpr auto kWhole = static_cast<size_t>(StatType::AGGREGATE);
    const auto stats = allocator_->getDeviceStats(device);
    const auto& allocated = stats.allocated_bytes.at(kWhole);
    const auto& reserved = stats.reserved_bytes.at(kWhole);
    const uint64_t bit = uint64_t{1} << static_cast<unsigned>(device);
    if (reserved.peak == 0 && (used_ & bit) == 0)
      return;  // a device that the program does not use
    used_ |= bit;
    port.add({.time_ns = monotonic_ns(),
              .device = device,
              .allocated_bytes = allocated.current,
              .reserved_bytes = reserved.current,
              .peak_bytes = allocated.peak,
              .reserved_peak_bytes = reserved.peak,
              .retries = stats.num_alloc_retries});
  }

  std::mutex mutex_;
  c10::DeviceAllocator* allocator_ = nullptr;
  c10::DeviceIndex count_ = 0;
  uint64_t used_ = 0;
  std::string fault_;
};

Devices& devices() {
  static Devices* const made = new Devices;
  return *made;
}

void read_devices() {
  DeviceMemoryPort* port = current_devices.load(std::memory_order_acquire);
  if (port != nullptr)
    devices().read(*port);
}

std::unique_ptr<at::ObserverContext> range_begins(const at::RecordFunction& function) {
  const Part part = part_of(function.name());
  if (part == Part::next || part == Part::profiler)
    read_devices();
  return nullptr;
}

void range_ends(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  if (part_of(function.name()) == Part::update)
    read_devices();
}

void forget_devices_in_child() {
  current_devices = nullptr;
  device_registration.keep_in_child();
}

}  // namespace

void watch_device_memory(DeviceMemoryPort& port) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, forget_devices_in_child);
  static_cast<void>(fork_handler);
  current_devices.store(&port, std::memory_order_release);
  device_registration.put(at::RecordFunctionCallback(range_begins, range_ends),
                          {at::RecordScope::USER_SCOPE}, Threads::all, /*needs_outputs=*/false);
  port.set_reader(read_devices);
}

void unwatch_device_memory() {
  if (current_devices.exchange(nullptr) != nullptr)
    device_registration.remove();
}

std::string device_memory_fault() {
  return devices().fault();
}

}  // namespace perfprobe
