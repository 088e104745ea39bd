// One recording: definitions, buffers, the file, and the native thread that writes it.
//
// Locks, always taken in this order; none is ever held while waiting for Python's GIL:
//   companions_mutex_   which threads step aside with the writer
//   NativeThread's own  starting and joining a thread
//   file_mutex_         the file, `Chunk::flushed`, and the act of writing
//   pool_mutex_         which chunk is where
//   definitions_mutex_  the definition tables and the losses
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/block_encoder.h"
#include "core/clock.h"
#include "core/definitions.h"
#include "core/event_buffer.h"
#include "core/loss.h"
#include "core/native_thread.h"
#include "core/operator_encoder.h"
#include "core/recording_file.h"

namespace perfprobe {

// A column of a table that a collector hands over whole. Times: `start_ns` and, behind it,
// `end_ns`.
struct ColumnView {
  std::string_view name;
  std::span<const int64_t> values;
};

// Never destroyed: threads that outlive the recording may still hold a chunk of it. What takes
// memory is let go of by `close`.
class Recorder {
 public:
  // Creates the file and starts the writer; throws std::system_error.
  Recorder(const std::string& path, size_t buffer_bytes, int64_t flush_ns);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Runs `change(definitions)` under the lock. A thread that outlived the recording gets tables
  // that nobody writes.
  template <class Change>
  auto define(Change change) {
    const std::lock_guard lock(definitions_mutex_);
    try {
      if (!definitions_)
        definitions_ = std::make_unique<Definitions>();
      return change(*definitions_);
    } catch (const std::bad_alloc&) {
      definitions_broken_ = true;
      throw;
    }
  }

  Chunk* exchange_chunk(Chunk* full, int32_t thread);
  void return_chunk(Chunk* chunk);
  void count_dropped(Dropped what) { ++dropped_.at(static_cast<size_t>(what)); }

  void add_meta(const std::string& key, const std::string& value);
  void add_loss(const Loss& loss);
  // A block of rows, written at once with the definitions they refer to; false when the disk
  // refused. The columns are of one length, at least one row.
  bool add_rows(std::string_view table, std::span<const ColumnView> columns);
  // Has the writer call `ring(argument)` once, when `due_ns` of the monotonic clock has come; a
  // later call with the same `ring` replaces an earlier one. The writer holds no lock of ours
  // meanwhile.
  void set_alarm(int64_t due_ns, void (*ring)(void*), void* argument);
  // The same at the next heartbeat, for which the writer wakes anyway.
  void set_heartbeat_alarm(void (*ring)(void*), void* argument) {
    set_alarm(kAtHeartbeat, ring, argument);
  }
  // Around a fork: see NativeThread. Without a writer (no thread to be had) recording threads still
  // write whenever the buffer is full.
  void pause();
  void resume();
  // A thread that writes into this recording steps aside together with the writer, until it leaves.
  void join_forks(NativeThread& companion);
  void leave_forks(NativeThread& companion);
  // Writes what is left, the losses and the end; joins the writer. A second call does nothing.
  void close();

  // The writer has a Python thread state while an alarm of it calls into Python.
  [[nodiscard]] bool is_writer(int64_t os_thread) const { return writer_.os_thread() == os_thread; }
  [[nodiscard]] int64_t operator_rows() const { return written_rows_; }
  [[nodiscard]] int64_t dropped_rows() const { return dropped_rows_; }
  [[nodiscard]] int64_t writer_cpu_ns() const { return writer_cpu_ns_; }
  [[nodiscard]] int64_t written_bytes() const { return file_.bytes(); }

 private:
  void wake_writer();
  void write_until_closed();
  // Few, so that chunks are used again while they are still in the processor's cache.
  static constexpr size_t kManyChunks = 2;
  Chunk* take_chunk(int32_t thread, bool may_grow);

  // Unfinished chunks are left alone between heartbeats: large blocks are small on disk and quick
  // to read.
  enum class Extent { full_chunks, all };
  void write_pending(Extent extent);
  bool write_new_definitions();
  void write_rows(Chunk& chunk, uint32_t published, bool defined);
  bool encode_rows(const Chunk& chunk, uint32_t rows);
  template <class Row>
  void write_row(const Row& row);
  void write_progress();
  [[nodiscard]] int64_t next_alarm_ns() const;
  void ring_alarms(bool is_heartbeat);
  void write_end();
  bool write_losses(const std::vector<Loss>& losses);
  std::vector<Loss> collect_losses();
  void let_go();

  ChunkPool pool_;  // first: without memory for it no file is made
  std::mutex file_mutex_;
  RecordingFile file_;
  BlockEncoder encoder_;
  OperatorEncoder operator_encoder_;
  TickConverter clock_;
  int64_t last_rows_start_ =
      0;  // where the newest operators block begins, and its rows: taken off again
  int64_t last_rows_count_ = 0;  // to make room for the losses when the disk is full

  std::mutex companions_mutex_;
  std::vector<NativeThread*> companions_;
  int pauses_ = 0;  // forks under way

  std::mutex pool_mutex_;
  std::condition_variable wake_writer_;
  std::vector<Chunk*> active_;  // owned by recording threads
  std::vector<Chunk*> queue_;   // to be written whole
  static constexpr int64_t kAtHeartbeat = std::numeric_limits<int64_t>::max();
  struct Alarm {
    int64_t due_ns;
    void (*ring)(void*);
    void* argument;
  };
  std::vector<Alarm> alarms_;
  std::atomic<bool> closed_{false};

  std::mutex definitions_mutex_;
  std::unique_ptr<Definitions> definitions_ = std::make_unique<Definitions>();
  std::vector<Loss> losses_;
  std::atomic<bool> definitions_broken_{false};

  std::atomic<int64_t> written_rows_{0};
  std::atomic<int64_t> dropped_rows_{0};
  std::atomic<int64_t> writer_cpu_ns_{0};
  std::array<std::atomic<int64_t>, kDroppedKinds> dropped_{};  // by `Dropped`
  const int64_t flush_ns_;
  // Last: it runs as soon as all the rest is there.
  NativeThread writer_{[this] { write_until_closed(); }, [this] { wake_writer(); }};
};

}  // namespace perfprobe
