#include "core/step_line.h"

#include <array>
#include <cstdio>
#include <unistd.h>

#include "core/clock.h"

namespace perfprobe {
namespace {

constexpr double kMillisecondNs = 1e6;

}  // namespace

void StepLine::find_stderr() {
  has_stderr_ = ::fstat(STDERR_FILENO, &stderr_) == 0;
}

void StepLine::add(const LiveStep& step) {
  if (step.is_evaluation || step.number < warm_up_)
    return;
  ++steps_;
  time_ns_ += step.end_ns - step.start_ns;
  reader_ns_ += step.reader_ns;
  samples_ = step.samples < 0 || samples_ < 0 ? -1 : samples_ + step.samples;
}

std::string StepLine::take(int32_t number) {
  const auto steps = static_cast<double>(steps_);
  const auto time_ns = static_cast<double>(time_ns_ > 0 ? time_ns_ : 1);
  const auto reader_ns = static_cast<double>(reader_ns_);
  const bool has_samples = samples_ > 0;
  const double rate = (has_samples ? static_cast<double>(samples_) : steps) / time_ns *
                      static_cast<double>(kSecondNs);
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "perfprobe: step %d: batch_cost %.3f ms, reader_cost %.3f ms (%.1f %%), ips %.2f "
                "%s\n",
                number, time_ns / steps / kMillisecondNs, reader_ns / steps / kMillisecondNs,
                100 * reader_ns / time_ns, rate, has_samples ? "samples/s" : "steps/s");
  steps_ = time_ns_ = reader_ns_ = samples_ = 0;
  return text.data();
}

void StepLine::print(const std::string& line) const {
  struct stat now{};
  if (!has_stderr_ || ::fstat(STDERR_FILENO, &now) != 0 || now.st_dev != stderr_.st_dev ||
      now.st_ino != stderr_.st_ino)
    return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace perfprobe
