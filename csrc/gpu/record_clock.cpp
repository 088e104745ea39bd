#include "gpu/record_clock.h"

#include "core/clock.h"

namespace perfprobe {

void RecordClock::begin(int64_t session_ns) {
  has_begun_ = true;
  first_ns_ = session_ns - kSlackNs;
}

void RecordClock::begin_buffer() {
  const int64_t before_ns = monotonic_ns();
  const int64_t realtime_ns = read_clock_ns(CLOCK_REALTIME);
  const int64_t after_ns = monotonic_ns();
  last_ns_ = after_ns + kSlackNs;
  ahead_ns_ = realtime_ns - before_ns - (after_ns - before_ns) / 2;
}

RecordClock::Fit RecordClock::settle(int64_t& start_ns, int64_t& end_ns) const {
  if (!has_begun_ || is_in_session(start_ns, end_ns))
    return Fit::ours;
  if (is_in_session(start_ns - ahead_ns_, end_ns - ahead_ns_)) {
    start_ns -= ahead_ns_;
    end_ns -= ahead_ns_;
    return Fit::shifted;
  }
  start_ns = end_ns = -1;
  return Fit::foreign;
}

}  // namespace perfprobe
