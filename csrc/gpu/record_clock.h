// Finds out which clock a record's times are in. CUPTI is given our clock, but may still write
// times of its own (CLOCK_REALTIME) or unknown ones: see kClockFault in cupti_faults.h.
#pragma once

#include <cstdint>

namespace perfprobe {

class RecordClock {
 public:
  enum class Fit { ours, shifted, foreign };

  // Records from now on have later times than this. Without this call all times are taken as our
  // clock.
  void begin(int64_t session_ns);
  // Reads both clocks: records that follow happened before now.
  void begin_buffer();
  // Converts times of CUPTI's own clock to ours. Impossible times become -1.
  Fit settle(int64_t& start_ns, int64_t& end_ns) const;

 private:
  // Converting GPU times to the clock has an error of microseconds. The other clock differs by
  // decades.
  static constexpr int64_t kSlackNs = 1'000'000'000;

  [[nodiscard]] bool is_in_session(int64_t start_ns, int64_t end_ns) const {
    return start_ns >= first_ns_ && end_ns <= last_ns_;
  }

  bool has_begun_ = false;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t ahead_ns_ = 0;  // CUPTI's own clock minus ours
};

}  // namespace perfprobe
