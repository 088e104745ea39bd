// A stand-in for torch's allocator for GPUs: two devices, which count what the program says.
#include <array>

#include <c10/core/CachingDeviceAllocator.h>

namespace {

constexpr int kDevices = 2;

class Stated final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t /*bytes*/) override { return {}; }
  void copy_data(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) const override {}
  bool initialized() override { return is_initialized; }
  void emptyCache(c10::MempoolId_t /*pool*/) override {}
  void recordStream(const c10::DataPtr& /*data*/, c10::Stream /*stream*/) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    ++readings;
    TORCH_CHECK(!is_refused, "this allocator does not count");
    TORCH_CHECK(device >= 0 && device < kDevices, "invalid device");
    return stats.at(static_cast<size_t>(device));
  }
  void resetAccumulatedStats(c10::DeviceIndex /*device*/) override {}
  void resetPeakStats(c10::DeviceIndex /*device*/) override {}

  bool is_initialized = false, is_refused = false;
  int readings = 0;
  std::array<c10::CachingDeviceAllocator::DeviceStats, kDevices> stats;
};

Stated& stated() {
  static Stated* const made = new Stated;
  return *made;
}

}  // namespace

extern "C" {

void standin_register(bool is_refused) {
  stated().is_refused = is_refused;
  c10::SetAllocator(c10::DeviceType::CUDA, &stated());
}

void standin_initialise() {
  stated().is_initialized = true;
}

void standin_state(int device, long allocated, long reserved, long retries) {
  auto& stats = stated().stats.at(static_cast<size_t>(device));
  const auto state = [](c10::CachingAllocator::Stat& of, long bytes) {
    of.decrease(static_cast<size_t>(of.current));
    of.increase(static_cast<size_t>(bytes));
  };
  state(stats.allocated_bytes[0], allocated);
  state(stats.reserved_bytes[0], reserved);
  stats.num_alloc_retries = retries;
}

int standin_readings() {
  return stated().readings;
}
}
