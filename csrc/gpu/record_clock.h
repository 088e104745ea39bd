// Which clock the times of a record are of. CUPTI is given ours, and may still write times of its
// own (CLOCK_REALTIME) or unknown: see kClockFault in cupti_faults.h.
#pragma once

#include <cstdint>

namespace perfprobe {

class RecordClock {
 public:
  enum class Fit { ours, shifted, foreign };

  // What is recorded from now on has times since then. Never called: all times are taken as ours.
  void begin(int64_t session_ns);
  // Reads both clocks: what comes next has happened.
  void begin_buffer();
  // Makes times of CUPTI's own clock ours, and times that cannot be -1.
  Fit settle(int64_t& start_ns, int64_t& end_ns) const;

 private:
  // Records of GPUs are converted to the clock, which takes its microseconds; the other clock is
  // decades away.
  static constexpr int64_t kSlackNs = 1'000'000'000;

  [[nodiscard]] bool is_in_session(int64_t start_ns, int64_t end_ns) const {
    return start_ns >= first_ns_ && end_ns <= last_ns_;
  }

  bool has_begun_ = false;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t ahead_ns_ = 0;  // CUPTI's own clock of ours
};

}  // namespace perfprobe
