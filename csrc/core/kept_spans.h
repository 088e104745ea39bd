// Tells the sampler which steps are kept: it writes the rows of these, and adds up all others.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/held_rows.h"

namespace perfprobe {

// There is one in the process, because one recording runs at a time.
class KeptSpans {
 public:
  static KeptSpans& instance() {
    static auto* const made = new KeptSpans();
    return *made;
  }

  struct Span {
    int64_t start_ns;
    int64_t end_ns;
    Fate fate;
  };
  struct News {
    std::vector<Span> spans;  // ordered by time
    int64_t sums_due;         // how often sums were due so far
  };

  void start() { reset(true); }
  void stop() { reset(false); }
  [[nodiscard]] bool is_on() {
    const std::lock_guard lock(mutex_);
    return is_on_;
  }
  void add(const Span& span) {
    const std::lock_guard lock(mutex_);
    if (spans_.size() < kMost)
      spans_.push_back(span);
  }
  void ask_for_sums() {
    const std::lock_guard lock(mutex_);
    ++sums_due_;
  }
  News take() {
    const std::lock_guard lock(mutex_);
    News news{{}, sums_due_};
    news.spans.swap(spans_);
    return news;
  }

 private:
  static constexpr size_t kMost = 262'144;  // until they are taken, twice a second

  void reset(bool on) {
    const std::lock_guard lock(mutex_);
    is_on_ = on;
    spans_.clear();
    sums_due_ = 0;
  }

  std::mutex mutex_;
  bool is_on_ = false;
  std::vector<Span> spans_;
  int64_t sums_due_ = 0;
};

}  // namespace perfprobe
