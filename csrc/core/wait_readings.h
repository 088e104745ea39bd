// When threads that run operators waited for a processor, into the recording.
//
// A thread reads its own waiting every few milliseconds of its operators. The scheduler adds a wait
// when it ends, so each is in the first reading behind it, and none is between two readings without
// a row.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "core/any_thread_rows.h"
#include "core/row_column.h"
#include "core/run_delay.h"

namespace perfprobe {

struct WaitReading {
  int64_t start_ns;  // the reading before
  int64_t end_ns;
  int32_t thread;
  int64_t wait_ns;

  static constexpr std::string_view kTable = "wait_readings";
  static constexpr auto columns() {
    using Row = WaitReading;
    return std::array{column<&Row::start_ns>("start_ns"), column<&Row::end_ns>("end_ns"),
                      column<&Row::thread>("thread"), column<&Row::wait_ns>("wait_ns")};
  }
};

// Never destroyed, as its rows.
class WaitReadings {
 public:
  explicit WaitReadings(Recorder& recorder) : rows_(recorder) {}

  // Called by the thread itself. thread: its row of `threads`.
  void read(int32_t thread) noexcept;
  void stop();

 private:
  // Each keeps a file open. The loop's threads come first.
  static constexpr size_t kMostThreads = 16;
  static constexpr int64_t kLeastNs = 100'000;  // shorter waits are told with the next

  struct Thread {
    RunDelay delay;
    int64_t read_ns = -1;
    int64_t told_ns = 0;  // of its waiting
  };

  std::mutex mutex_;
  std::unordered_map<int32_t, Thread> threads_;
  AnyThreadRows<WaitReading> rows_;
};

}  // namespace perfprobe
