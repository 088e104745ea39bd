// A row of sums for each child process of a recorded program, in one file that all of them map.
//
// A forked child inherits the mapping, a spawned one opens the file. Cells are added to without a
// lock, a system call or a descriptor kept: the sums are there however a process ends, and however
// many there were, the file does not grow. Readers find the columns' names in its head.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace perfprobe {

enum class ChildCell : uint8_t {
  processes,  // 1; the last row stands for all beyond kRows
  ended,      // those that came to their end, rather than being killed
  process,    // its number, and its parent's
  parent,
  kind,    // a ChildKind of perfprobe/tables/workers.py
  method,  // a StartMethod of the same
  detail,  // 1: it also has a recording of its own
  worker,  // its number within its DataLoader, and of how many
  workers,
  forked_ns,   // when its parent began to start it
  started_ns,  // when it began to run the program's part
  ready_ns,    // when it first asked for a batch's indices
  last_ns,     // its last sign of life
  cpu_ns,
  batches,
  waiting_ns,  // for indices: the main process has asked for nothing
  fetch_ns,    // dataset and collate function
  collate_ns,
  put_ns,        // handing a batch to the thread that sends it
  send_ns,       // that thread's time: pickling, shared memory, the pipe
  queued,        // batches that lay finished when one more was put, summed up
  queued_most,   // and the most
  queued_looks,  // how often that could be asked
  name_0,        // of the dataset's type, or of the function: 48 bytes of UTF-8
  name_1,
  name_2,
  name_3,
  name_4,
  name_5,
};

class ChildSheet {
 public:
  static constexpr size_t kRows = 1024;
  static constexpr size_t kCells = 32;          // some to spare
  static constexpr int64_t kMostDetailed = 16;  // children with a recording of their own

  // Makes the file, or opens one that was made. Throws std::system_error.
  enum class Way : uint8_t { make, open };
  ChildSheet(const std::string& path, Way way);
  ChildSheet(const ChildSheet&) = delete;  // the mapping is kept: processes end with it
  ChildSheet& operator=(const ChildSheet&) = delete;

  // A row for this process; the last one, which it shares, when all are taken.
  size_t take();
  // Whether this process may record itself in detail too.
  bool take_detail();

  void add(size_t row, ChildCell cell, int64_t value);
  // Nothing in the row that many share, but for the most, which is kept.
  void set(size_t row, ChildCell cell, int64_t value);
  void raise(size_t row, ChildCell cell, int64_t value);
  void set_name(size_t row, std::string_view text);
  [[nodiscard]] int64_t get(size_t row, ChildCell cell) const;
  // Its number; -1 where there is none of this name.
  static int find(std::string_view name);

 private:
  struct Head;
  using Cell = std::atomic<int64_t>;
  [[nodiscard]] Cell& at(size_t row, ChildCell cell) const;

  Head* head_;
};

}  // namespace perfprobe
