// How much the threads of the process have run between two ticks of the sampler, by their own
// clocks: the process's clock is as old as the kernel's last tick on the other processors.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/recorder.h"
#include "core/row_table.h"

namespace perfprobe {

struct ActivityRow {
  int64_t start_ns;
  int64_t end_ns;
  int64_t callers_ns;  // CPU time of the threads that have Python
  int64_t helpers_ns;  // of the others: teams of OpenMP, threads of libraries
  int64_t most_ns;     // of the helper that ran most
  int32_t helpers;     // those that ran at all

  static constexpr std::string_view kTable = "thread_activity";
  static constexpr auto columns() {
    using Row = ActivityRow;
    return std::array{
        column<&Row::start_ns>("start_ns"),     column<&Row::end_ns>("end_ns"),
        column<&Row::callers_ns>("callers_ns"), column<&Row::helpers_ns>("helpers_ns"),
        column<&Row::most_ns>("most_ns"),       column<&Row::helpers>("helpers")};
  }
};

class ThreadActivity {
 public:
  explicit ThreadActivity(Recorder& recorder) : recorder_(recorder) {}

  // callers: the numbers of threads that have Python. What a thread did before it was first seen
  // is not counted.
  void read(const std::vector<int64_t>& callers);
  void write();
  // Threads beyond the limit, at most at once: their clocks were not read.
  [[nodiscard]] int64_t unread() const { return unread_; }

 private:
  struct Known {
    int64_t cpu_ns = -1;
    uint64_t listing = 0;
    bool is_own = false;  // of perfprobe
  };

  void list();
  void add(int64_t os_thread, Known& thread, const std::vector<int64_t>& callers, ActivityRow& row);

  static constexpr size_t kMostThreads = 128;
  static constexpr int64_t kUnseenNs = 10'000'000;  // that unknown threads may have run
  // A day's recording must still be readable: half as many readings after so many rows.
  static constexpr int64_t kRowsToRarer = 1'048'576;

  Recorder& recorder_;
  std::unordered_map<int64_t, Known> threads_;
  RowTable<ActivityRow> rows_;
  uint64_t listing_ = 0;
  int64_t listed_process_ns_ = 0;  // the clock of the process when threads were listed,
  int64_t seen_ns_ = 0;            // and what known threads have run since
  int64_t end_ns_ = 0;
  int64_t written_ = 0;
  int64_t unread_ = 0;
  uint32_t stride_ = 1;
  uint32_t skipped_ = 0;
  bool is_list_stale_ = true;
};

}  // namespace perfprobe
