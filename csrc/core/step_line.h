// A line on standard error about the latest steps.
#pragma once

#include <cstdint>
#include <string>
#include <sys/stat.h>

#include "core/live_steps.h"

namespace perfprobe {

// Sums of the steps since the line before.
class StepLine {
 public:
  explicit StepLine(int64_t warm_up) : warm_up_(warm_up) {}

  // Standard error as it is now: a program may put another file in its place, which is not ours.
  void find_stderr();
  void add(const LiveStep& step);
  [[nodiscard]] int64_t steps() const { return steps_; }
  // The line, and begins anew. `number`: of the last step.
  std::string take(int32_t number);
  void print(const std::string& line) const;

 private:
  const int64_t warm_up_;
  bool has_stderr_ = false;
  struct stat stderr_{};
  int64_t steps_ = 0;
  int64_t time_ns_ = 0;
  int64_t reader_ns_ = 0;
  int64_t samples_ = 0;
};

}  // namespace perfprobe
