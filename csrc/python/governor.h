// Limits the cost of counting calls with a leaky bucket: the estimated cost fills it, and it leaks
// a twentieth of the time in which the program could run. It holds a tenth of a second, which may
// be spent at once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace perfprobe {

class Governor {
 public:
  void begin(int64_t now_ns) { last_ns_ = now_ns; }
  // Adds the cost since the last call; returns whether it exceeded the limit. now_ns: on a clock
  // that stands while the program waits for a processor.
  bool overspent(int64_t now_ns, double cost_ns) {
    const auto passed_ns = static_cast<double>(now_ns - last_ns_);
    last_ns_ = now_ns;
    level_ns_ = std::max(0.0, level_ns_ + cost_ns - kShare * passed_ns);
    return level_ns_ > kHeldNs;
  }

 private:
  static constexpr double kShare = 0.05;
  static constexpr double kHeldNs = 100e6;
  double level_ns_ = 0;
  int64_t last_ns_ = 0;
};

}  // namespace perfprobe
