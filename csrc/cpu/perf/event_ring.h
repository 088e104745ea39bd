// The memory in which the kernel passes the samples of one processor to perfprobe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <linux/perf_event.h>

namespace perfprobe {

// A sample with PERF_SAMPLE_IP | TID | TIME | REGS_USER, the user's instruction pointer alone.
struct InstructionSample {
  uint64_t address;       // of the next instruction, in the kernel or in the program
  uint64_t user_address;  // of the program's; 0 not known
  int64_t time_ns;
  int32_t process, thread;
  bool is_in_kernel;
};

class EventRing {
 public:
  static constexpr size_t kPages = 32;

  EventRing() = default;
  EventRing(EventRing&& other) noexcept;
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;
  ~EventRing();

  // Returns 0, or an errno: EPERM if perf_event_mlock_kb is too small.
  int map(int event);
  // Appends what was written since the last call, and counts the samples lost because it was full.
  void take(std::vector<InstructionSample>& samples, int64_t& lost);

 private:
  void add(const perf_event_header& header, uint64_t at, std::vector<InstructionSample>& samples,
           int64_t& lost) const;
  void copy(uint64_t at, void* into, size_t bytes) const;

  void* memory_ = nullptr;
  size_t bytes_ = 0;
  size_t page_ = 0;
};

}  // namespace perfprobe
