// Known faults of CUPTI versions, and what is done about them. This is the only place that lists
// them: the session follows it, recordings name the faults of their version, and the merge, the
// losses and `perfprobe doctor` use these names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace perfprobe {

// Versions as cuptiGetVersion returns them: 24 is CUDA 12.6 with all its updates, 130101 is 13.1
// Update 1.
struct KnownFault {
  std::string_view name;  // in recordings
  uint32_t first;         // the first version with the fault, as far as known
  uint32_t fixed;         // the first version without it
  std::string_view what;
  std::string_view answer;
  std::string_view remedy;  // for the user

  [[nodiscard]] constexpr bool is_in(uint32_t version) const {
    return version >= first && version < fixed;
  }
};

// NVIDIA's notes: times are zero or of another clock from 12.6 Update 2 until 13.1. Reported in
// pytorch/pytorch#192021: no record is wrong if the clock is registered once, k records are wrong
// when it is registered for the k-th time again.
inline constexpr KnownFault kClockFault{
    "clock",
    24,
    130100,
    "a clock that is registered again is not used for the first kernels",
    "it is registered once and left there until the program ends; times of CUPTI's own clock are "
    "converted, others left out, and both counted",
    "use a torch built for CUDA 13.1 or newer"};

// NVIDIA's notes of 13.1 Update 1.
inline constexpr KnownFault kGraphFault{
    "graph_ids",
    0,
    130101,
    "from the second recording of a process on, launches of CUDA graphs have wrong numbers",
    "kernels of graphs are then shown without operator and line, and counted",
    "record once in a process, or use CUDA 13.1 Update 1 or newer"};

// NVIDIA's notes of 13.0 Update 1. They do not say which earlier versions have it.
inline constexpr KnownFault kWaitFault{"device_waits",
                                       130000,
                                       130001,
                                       "cudaDeviceSynchronize gives no record of its wait",
                                       "the losses say that such waits are missing",
                                       "use CUDA 13.0 Update 1 or newer"};

// NVIDIA's notes of 13.0 Update 1: cuptiActivityDisable(CONCURRENT_KERNEL) may wait for ever, and
// cuptiActivityFlushAll may crash.
inline constexpr KnownFault kFetchFault{
    "fetching",
    130000,
    130001,
    "fetching records while the program runs may crash, and "
    "ceasing to record kernels may wait for ever",
    "records are fetched at the end, or as CUPTI delivers them; "
    "kernels are recorded between windows of steps too",
    "use CUDA 13.0 Update 1 or newer"};

// Reported in pytorch/kineto#1534.
inline constexpr KnownFault kRefusalFault{"refusals",
                                          0,
                                          27,
                                          "a request that gets no memory ends the program",
                                          "twice as many buffers are allowed",
                                          "use a torch built for CUDA 12.9 or newer"};

inline constexpr std::array kKnownFaults{kClockFault, kGraphFault, kWaitFault, kFetchFault,
                                         kRefusalFault};

}  // namespace perfprobe
