// Reads clocks, power, temperature and throttling of the GPUs that this process uses, once a
// second.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/recorder.h"
#include "core/row_table.h"
#include "gpu/cuda_driver.h"
#include "gpu/cupti_api.h"
#include "gpu/gpu_row_types.h"
#include "gpu/nvml.h"

namespace perfprobe {

struct GpuStateFigures {
  int64_t readings = 0;
  int64_t refused = 0;     // readings for which NVML said nothing, or did not know the device
  int64_t longest_ns = 0;  // the longest round
  int64_t slow = 0;        // rounds that took long: each is followed by a longer pause
  std::optional<CuptiFault> lack;  // why nothing is read
};

// Used by one thread at a time, and none of the program's.
class GpuStates {
 public:
  GpuStates(Recorder& recorder, const CudaDriver& driver) : recorder_(recorder), driver_(driver) {}

  // When `read` should be called.
  [[nodiscard]] int64_t due_ns() const { return due_ns_; }
  // Reads the devices in use and writes a row for each. Loads NVML once there is one.
  void read(int64_t now_ns);
  [[nodiscard]] const GpuStateFigures& figures() const { return figures_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  [[nodiscard]] std::vector<int> devices_in_use() const;
  void look_up(int ordinal);
  void read_round(const std::vector<int>& ordinals);

  Recorder& recorder_;
  const CudaDriver& driver_;
  Nvml nvml_;
  bool is_open_ = false;
  std::vector<std::optional<Nvml::Device>> found_;  // by number; null: NVML does not know it
  RowTable<GpuStateRow> rows_;
  int64_t due_ns_ = 0;
  GpuStateFigures figures_;
};

}  // namespace perfprobe
