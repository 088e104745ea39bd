#include "gpu/gpu_states.h"

#include <algorithm>
#include <new>

#include "core/clock.h"

namespace perfprobe {
namespace {

constexpr int64_t kStateNs = 1'000'000'000;
constexpr int64_t kSlowNs = 50'000'000;
constexpr int64_t kAfterSlowNs = 10'000'000'000;

}  // namespace

void GpuStates::read(int64_t now_ns) {
  due_ns_ = now_ns + kStateNs;
  try {
    const std::vector<int> ordinals = devices_in_use();
    if (ordinals.empty())
      return;
    if (!is_open_)
      figures_.lack = nvml_.open();
    is_open_ = !figures_.lack;
    if (is_open_)
      read_round(ordinals);
  } catch (const std::bad_alloc&) {
    figures_.lack = CuptiFault{"out of memory", ""};
  }
  if (figures_.lack)
    due_ns_ = kNever;
}

std::vector<int> GpuStates::devices_in_use() const {
  std::vector<int> ordinals;
  for (int i = 0; i < static_cast<int>(driver_.devices().size()); ++i) {
    if (driver_.has_context(i))
      ordinals.push_back(i);
  }
  return ordinals;
}

void GpuStates::look_up(int ordinal) {
  const auto place = static_cast<size_t>(ordinal);
  found_.resize(std::max(found_.size(), place + 1));
  if (!found_[place])
    found_[place] = nvml_.find_device(driver_.bus_id(ordinal));
}

// The first look at a device may take long, and is no sign of slow readings.
void GpuStates::read_round(const std::vector<int>& ordinals) {
  for (const int ordinal : ordinals)
    look_up(ordinal);
  const int64_t start_ns = monotonic_ns();
  for (const int ordinal : ordinals) {
    const Nvml::Device device = *found_[static_cast<size_t>(ordinal)];
    GpuStateRow row = device == nullptr ? GpuStateRow{} : nvml_.read(device);
    if (row == GpuStateRow{}) {
      ++figures_.refused;
      continue;
    }
    row.time_ns = monotonic_ns();
    row.device = ordinal;
    rows_.add(row);
    ++figures_.readings;
  }
  const int64_t round_ns = monotonic_ns() - start_ns;
  figures_.longest_ns = std::max(figures_.longest_ns, round_ns);
  if (round_ns > kSlowNs) {
    ++figures_.slow;
    due_ns_ += kAfterSlowNs - kStateNs;
  }
  rows_.write(recorder_);
}

}  // namespace perfprobe
