// Rows of one table that any thread may add, into the recording.
#pragma once

#include <mutex>
#include <new>
#include <utility>

#include "core/recorder.h"
#include "core/row_table.h"

namespace perfprobe {

// Never destroyed: the writer may still call it.
template <class Row>
class AnyThreadRows {
 public:
  explicit AnyThreadRows(Recorder& recorder) : recorder_(recorder) {}
  AnyThreadRows(const AnyThreadRows&) = delete;
  AnyThreadRows& operator=(const AnyThreadRows&) = delete;

  // Nothing is kept while the recorder holds rows back: those of a day are too many. The writer is
  // asked for one heartbeat after the first row, so that it does nothing for a program without any.
  void add(const Row& row) noexcept try {
    if (recorder_.is_holding())
      return;
    bool is_full = false;
    {
      const std::lock_guard lock(mutex_);
      if (has_stopped_)
        return;
      if (rows_.size() == 0)
        recorder_.set_heartbeat_alarm(&AnyThreadRows::ring, this);
      rows_.add(row);
      is_full = rows_.is_full();
    }
    if (is_full)
      write();
  } catch (const std::bad_alloc&) {
    recorder_.count_dropped(Dropped::no_memory);
  }

  // Writes the rest, before the recorder closes.
  void stop() {
    write();
    const std::lock_guard lock(mutex_);
    has_stopped_ = true;
    rows_ = {};
  }

 private:
  static void ring(void* self) { static_cast<AnyThreadRows*>(self)->write(); }

  // Without the lock: a thread of the program would wait for the disk.
  void write() try {
    RowTable<Row> rows;
    {
      const std::lock_guard lock(mutex_);
      std::swap(rows, rows_);
    }
    rows.write(recorder_);
  } catch (const std::bad_alloc&) {
    recorder_.count_dropped(Dropped::no_memory);
  }

  Recorder& recorder_;
  std::mutex mutex_;
  bool has_stopped_ = false;
  RowTable<Row> rows_;
};

}  // namespace perfprobe
