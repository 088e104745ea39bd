// Running totals of GPU work, readable from any thread at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gpu/cupti_records.h"

namespace perfprobe {

struct GpuTotal {
  int64_t calls = 0;
  int64_t bytes = 0;
  int64_t ns = 0;  // sum of those that have times
  bool operator==(const GpuTotal&) const = default;
};

// Copies by `CopyKind` and waits by `WaitKind` of perfprobe/tables/gpu.py; fills are separate.
struct GpuTotalsSnapshot {
  GpuTotal kernels;
  std::array<GpuTotal, cupti::kCopyKinds> copies;
  GpuTotal fills;
  std::array<GpuTotal, cupti::kWaitKinds> waits;
};

class GpuTotals {
 public:
  void add_kernel(int64_t ns) { kernels_.add(0, ns); }
  void add_copy(size_t kind, int64_t bytes, int64_t ns) { copies_.at(kind).add(bytes, ns); }
  void add_fill(int64_t bytes, int64_t ns) { fills_.add(bytes, ns); }
  void add_wait(size_t kind, int64_t ns) { waits_.at(kind).add(0, ns); }

  // Each number is exact, but a row that is being added may be in one number and not yet in
  // another.
  [[nodiscard]] GpuTotalsSnapshot read() const {
    GpuTotalsSnapshot totals;
    totals.kernels = kernels_.read();
    for (size_t i = 0; i < copies_.size(); ++i)
      totals.copies[i] = copies_[i].read();
    totals.fills = fills_.read();
    for (size_t i = 0; i < waits_.size(); ++i)
      totals.waits[i] = waits_[i].read();
    return totals;
  }

 private:
  struct Total {
    std::atomic<int64_t> calls{0}, bytes{0}, ns{0};

    void add(int64_t more_bytes, int64_t more_ns) {
      calls.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(more_bytes, std::memory_order_relaxed);
      ns.fetch_add(more_ns, std::memory_order_relaxed);
    }
    [[nodiscard]] GpuTotal read() const {
      return {calls.load(std::memory_order_relaxed), bytes.load(std::memory_order_relaxed),
              ns.load(std::memory_order_relaxed)};
    }
  };

  Total kernels_;
  std::array<Total, cupti::kCopyKinds> copies_;
  Total fills_;
  std::array<Total, cupti::kWaitKinds> waits_;
};

}  // namespace perfprobe
