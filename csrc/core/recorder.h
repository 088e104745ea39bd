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
#include <utility>
#include <vector>

#include "core/block_encoder.h"
#include "core/clock.h"
#include "core/definitions.h"
#include "core/event_buffer.h"
#include "core/held_rows.h"
#include "core/loss.h"
#include "core/memory_encoder.h"
#include "core/native_thread.h"
#include "core/operator_encoder.h"
#include "core/operator_sums.h"
#include "core/recording_file.h"
#include "core/source_lines.h"

namespace perfprobe {

// A column that a collector adds as a whole. Times are `start_ns` followed by `end_ns`.
struct ColumnView {
  std::string_view name;
  std::span<const int64_t> values;
};

// Never destroyed: threads that outlive the recording may still use a chunk. `close` frees the
// memory.
class Recorder {
 public:
  // Creates the file and starts the writer; throws std::system_error.
  Recorder(const std::string& path, size_t buffer_bytes, int64_t flush_ns);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Runs `change(definitions)` under the lock. A thread that outlived the recording gets tables
  // that are never written.
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

  Chunk* exchange_chunk(Chunk* full, int32_t thread, RowKind kind = RowKind::operators);
  void return_chunk(Chunk* chunk);
  void count_dropped(Dropped what) { ++dropped_.at(static_cast<size_t>(what)); }

  void add_meta(const std::string& key, const std::string& value);
  // From now on frames get a hash of their line's text: those in the user's files, by these folders
  // as UserCode has them.
  void hash_lines(std::vector<std::pair<std::string, bool>> folders) {
    const std::lock_guard lock(file_mutex_);
    lines_.set_folders(std::move(folders));
  }
  void add_loss(const Loss& loss);
  // Writes a block of rows at once, with the definitions they refer to. Returns false if the disk
  // refuses. All columns have the same length, at least 1.
  bool add_rows(std::string_view table, std::span<const ColumnView> columns);
  // From now on rows of operators are added up, and written only where `decide` says so.
  void hold_rows();
  // Called when a step has ended: sets the fate of all rows since the last call. Returns whether
  // some of them were given up earlier, because the step did not fit in the buffer.
  bool decide(Fate fate);
  [[nodiscard]] bool is_holding() const { return is_holding_.load(std::memory_order_relaxed); }
  // Writes the sums of operators since the last call. Called by the writer.
  void write_sums(int64_t until_ns);
  // Continues in a new file whenever one has reached this size.
  void rotate_at(int64_t bytes);
  // The writer calls `ring(argument)` once, when the monotonic clock reaches `due_ns`. A later call
  // with the same `ring` replaces the earlier one. The writer holds no recorder lock during the
  // call.
  void set_alarm(int64_t due_ns, void (*ring)(void*), void* argument);
  // The same at the next heartbeat, at which the writer wakes anyway.
  void set_heartbeat_alarm(void (*ring)(void*), void* argument) {
    set_alarm(kAtHeartbeat, ring, argument);
  }
  // Around a fork: see NativeThread. If no writer thread can be started, recording threads still
  // write whenever the buffer is full.
  void pause();
  void resume();
  // Pauses this thread, which writes into the recording, together with the writer at each fork,
  // until it leaves.
  void join_forks(NativeThread& companion);
  void leave_forks(NativeThread& companion);
  // Writes the rest, the losses and the end; joins the writer. A second call does nothing.
  void close();

  // The writer has a Python thread state while one of its alarms calls into Python.
  [[nodiscard]] bool is_writer(int64_t os_thread) const { return writer_.os_thread() == os_thread; }
  [[nodiscard]] int64_t operator_rows() const { return written_rows_; }
  [[nodiscard]] int64_t dropped_rows() const { return dropped_rows_; }
  // Number of operators that were added up.
  [[nodiscard]] int64_t watched_rows() const { return watched_rows_; }
  [[nodiscard]] int64_t sums_bytes() const { return sums_bytes_; }
  // Returns whether one more slow step may be written. This limits the size of a day's recording.
  [[nodiscard]] bool may_keep() const;
  [[nodiscard]] int64_t writer_cpu_ns() const { return writer_cpu_ns_; }
  [[nodiscard]] int64_t written_bytes() const { return file_.bytes(); }

 private:
  void wake_writer();
  void write_until_closed();
  // Few, so that chunks are reused while they are still in the processor's cache.
  static constexpr size_t kManyChunks = 2;
  Chunk* take_chunk(int32_t thread, RowKind kind, bool may_grow);
  void count_rows(RowKind kind, int64_t written, int64_t dropped);

  // Between heartbeats unfinished chunks are not written: large blocks are smaller on disk and
  // faster to read.
  enum class Extent { full_chunks, all };
  void write_pending(Extent extent);
  bool write_new_definitions();
  void add_hashes(NewDefinitions& fresh);
  void write_rows(Chunk& chunk, uint32_t published, bool defined);
  void write_span(std::span<const OperatorRecord> rows, int32_t thread, bool defined);
  void write_span(std::span<const MemoryRecord> rows, int32_t thread, bool defined);
  template <class Encode>
  void write_encoded(RowKind kind, size_t rows, const Encode& encode);
  void give_up_held();
  void write_held();
  void write_part(const HeldPart& part, bool defined);
  void rotate_if_large();
  [[nodiscard]] bool is_much_to_write() const {
    return (is_holding_ ? held_.ready() : queue_.size()) >= kManyChunks;
  }
  template <class Row>
  void write_row(const Row& row);
  void write_progress();
  [[nodiscard]] int64_t next_alarm_ns() const;
  void ring_alarms(bool is_heartbeat);
  void write_end();
  bool write_losses(const std::vector<Loss>& losses);
  std::vector<Loss> collect_losses();
  void let_go();

  ChunkPool pool_;  // first: if it gets no memory, no file is created
  std::mutex file_mutex_;
  RecordingFile file_;
  BlockEncoder encoder_;
  OperatorEncoder operator_encoder_;
  MemoryEncoder memory_encoder_;
  TickConverter clock_;
  // The newest block of a chunk: it is removed to make room for the losses when the disk is full.
  struct LastRows {
    int64_t start = 0;
    int64_t count = 0;
    RowKind kind = RowKind::operators;
  };
  LastRows last_rows_;

  std::mutex companions_mutex_;
  std::vector<NativeThread*> companions_;
  int pauses_ = 0;  // forks in progress

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
  std::atomic<bool> is_holding_{false};
  HeldRows held_;  // guarded by pool_mutex_

  std::mutex definitions_mutex_;
  std::unique_ptr<Definitions> definitions_ = std::make_unique<Definitions>();
  std::vector<Loss> losses_;
  std::atomic<bool> definitions_broken_{false};

  OperatorSums sums_;  // guarded by file_mutex_
  SourceLines lines_;  // guarded by file_mutex_
  int64_t rotate_bytes_ = 0;
  int64_t for_all_bytes_ = 0;
  int64_t started_ns_ = monotonic_ns();
  std::atomic<int64_t> watched_rows_{0};
  std::atomic<int64_t> sums_bytes_{0};
  std::atomic<int64_t> kept_bytes_{0};
  std::atomic<int64_t> written_rows_{0};
  std::atomic<int64_t> dropped_rows_{0};
  std::atomic<int64_t> dropped_memory_rows_{0};
  std::atomic<int64_t> writer_cpu_ns_{0};
  std::array<std::atomic<int64_t>, kDroppedKinds> dropped_{};  // by `Dropped`
  const int64_t flush_ns_;
  // Last: it uses all the members above as soon as it starts.
  NativeThread writer_{[this] { write_until_closed(); }, [this] { wake_writer(); }};
};

}  // namespace perfprobe
