// A row of sums for each child process of a recorded program, in one file that all of them map.
//
// A forked child inherits the mapping; a spawned one opens the file. Adding to a cell needs no
// lock, no system call and no open descriptor. So the sums exist however a process ends, and the
// file does not grow with the number of processes. The file's head holds the columns' names.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace perfprobe {

enum class ChildCell : uint8_t {
  processes,  // 1; the last row is shared by all beyond kRows
  ended,      // those that ended by themselves and were not killed
  process,    // its PID, and its parent's
  parent,
  kind,    // a ChildKind of perfprobe/tables/workers.py
  method,  // a StartMethod of the same file
  detail,  // 1: it also has a recording of its own
  worker,  // its number in its DataLoader, and the number of workers there
  workers,
  forked_ns,   // when its parent began to start it
  started_ns,  // when it began to run the program's part
  ready_ns,    // when it first asked for a batch's indices
  last_ns,     // when it last updated its row
  cpu_ns,
  batches,
  waiting_ns,  // for indices: the main process has requested nothing
  fetch_ns,    // dataset and collate function
  collate_ns,
  put_ns,               // handing a batch to the thread that sends it
  send_ns,              // that thread's time: pickling, shared memory, the pipe
  queued,               // sum of the finished batches in the queue at each put
  queued_most,          // the largest such number
  queued_looks,         // how often that number could be read
  private_first_bytes,  // memory that only it has, after its first batch
  private_bytes,        // and when that was last read
  name_0,               // name of the dataset's type, or of the function: 48 bytes of UTF-8
  name_1,
  name_2,
  name_3,
  name_4,
  name_5,
};

class ChildSheet {
 public:
  static constexpr size_t kRows = 1024;
  static constexpr size_t kCells = 32;          // with some spare cells
  static constexpr int64_t kMostDetailed = 16;  // most children with a recording of their own

  // Creates the file, or opens an existing one. Throws std::system_error.
  enum class Way : uint8_t { make, open };
  ChildSheet(const std::string& path, Way way);
  ChildSheet(const ChildSheet&) = delete;  // the mapping lasts until the process ends
  ChildSheet& operator=(const ChildSheet&) = delete;

  // Takes a row for this process. If all are taken, it shares the last one.
  size_t take();
  // Whether this process may also make a recording of its own.
  bool take_detail();

  void add(size_t row, ChildCell cell, int64_t value);
  // Sets a cell. In the shared last row only maxima are kept.
  void set(size_t row, ChildCell cell, int64_t value);
  void raise(size_t row, ChildCell cell, int64_t value);
  void set_name(size_t row, std::string_view text);
  [[nodiscard]] int64_t get(size_t row, ChildCell cell) const;
  // Returns the cell's number; -1 if there is no such name.
  static int find(std::string_view name);

 private:
  struct Head;
  using Cell = std::atomic<int64_t>;
  [[nodiscard]] Cell& at(size_t row, ChildCell cell) const;

  Head* head_;
};

}  // namespace perfprobe
