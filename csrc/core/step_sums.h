// Adds up the steps of a stretch of time to one row, so that a day of short steps stays small.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "core/live_steps.h"

namespace perfprobe {

struct StepSum {
  int64_t start_ns;
  int64_t end_ns;
  int64_t steps;
  int64_t slow;
  int64_t total_ns;
  int64_t least_ns;
  int64_t median_ns;
  int64_t p95_ns;
  int64_t most_ns;
  int64_t reader_ns;
  int64_t cpu_ns;
  int64_t waited_ns;
  int64_t collected_ns;
  int64_t samples;

  static constexpr std::string_view kTable = "step_sums";
  static constexpr auto columns() {
    using Row = StepSum;
    return std::array{column<&Row::start_ns>("start_ns"),
                      column<&Row::end_ns>("end_ns"),
                      column<&Row::steps>("steps"),
                      column<&Row::slow>("slow"),
                      column<&Row::total_ns>("total_ns"),
                      column<&Row::least_ns>("least_ns"),
                      column<&Row::median_ns>("median_ns"),
                      column<&Row::p95_ns>("p95_ns"),
                      column<&Row::most_ns>("most_ns"),
                      column<&Row::reader_ns>("reader_ns"),
                      column<&Row::cpu_ns>("cpu_ns"),
                      column<&Row::waited_ns>("waited_ns"),
                      column<&Row::collected_ns>("collected_ns"),
                      column<&Row::samples>("samples")};
  }
};

// A sum is -1 if the value of one of the steps is not known. Not thread-safe.
class StepSums {
 public:
  void add(const LiveStep& step);
  [[nodiscard]] bool empty() const { return sum_.steps == 0; }
  // Returns the row of the steps since the last call. Percentiles are those of 4,096 steps, drawn
  // at random.
  StepSum take();

 private:
  static constexpr size_t kDrawn = 4'096;

  StepSum sum_{};
  std::vector<int64_t> drawn_ns_;
  std::minstd_rand random_;
};

}  // namespace perfprobe
