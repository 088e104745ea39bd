#include "core/recorder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/definition_encoder.h"
#include "core/kept_spans.h"
#include "core/row_block.h"
#include "core/whole_rows.h"

namespace perfprobe {
Recorder::Recorder(const std::string& path, size_t buffer_bytes, int64_t flush_ns)
    : pool_(buffer_bytes), file_(path), flush_ns_(flush_ns) {
  const int error = writer_.start();
  if (error == 0)
    return;
  file_.close();
  ::unlink(path.c_str());
  throw ThreadRefused("the writer thread", error);
}

// Under the lock: otherwise the writer could miss this between its check and its wait.
void Recorder::wake_writer() {
  const std::lock_guard lock(pool_mutex_);
  wake_writer_.notify_one();
}

// Full chunks or time wake the writer. It writes a heartbeat every interval, however often it is
// woken.
void Recorder::write_until_closed() {
  int64_t cpu_ns = 0;
  int64_t due_ns = monotonic_ns() + flush_ns_;
  for (bool leaving = false; !leaving;) {
    bool only_rang = false;
    {
      std::unique_lock lock(pool_mutex_);
      const int64_t alarm_ns = std::min(due_ns, next_alarm_ns());
      const std::chrono::nanoseconds rest(alarm_ns - monotonic_ns());
      wake_writer_.wait_for(lock, rest, [&] {
        const bool earlier = next_alarm_ns() < alarm_ns;
        return writer_.leaving() || is_much_to_write() || earlier;
      });
      leaving = writer_.leaving();
      only_rang = !leaving && !is_much_to_write();
    }
    const bool is_due = monotonic_ns() >= due_ns;
    if (is_due)
      due_ns = monotonic_ns() + flush_ns_;
    try {
      ring_alarms(is_due);
      if (is_due || !only_rang)
        write_pending(is_due ? Extent::all : Extent::full_chunks);
    } catch (const std::bad_alloc&) {  // nothing was taken yet, so the next round writes it
    }
    writer_cpu_ns_ += thread_cpu_ns() - cpu_ns;
    cpu_ns = thread_cpu_ns();
  }
}

void Recorder::pause() {
  {
    const std::lock_guard lock(companions_mutex_);
    ++pauses_;
    for (NativeThread* companion : companions_)
      companion->pause();
  }
  writer_.pause();
}

void Recorder::resume() {
  writer_.resume();
  const std::lock_guard lock(companions_mutex_);
  pauses_ = std::max(pauses_ - 1, 0);
  for (NativeThread* companion : companions_)
    companion->resume();
}

void Recorder::join_forks(NativeThread& companion) {
  const std::lock_guard lock(companions_mutex_);
  for (int i = 0; i < pauses_; ++i)
    companion.pause();
  companions_.push_back(&companion);
}

void Recorder::leave_forks(NativeThread& companion) {
  const std::lock_guard lock(companions_mutex_);
  std::erase(companions_, &companion);
}

void Recorder::set_alarm(int64_t due_ns, void (*ring)(void*), void* argument) {
  const std::lock_guard lock(pool_mutex_);
  std::erase_if(alarms_, [ring](const Alarm& alarm) { return alarm.ring == ring; });
  alarms_.push_back({due_ns, ring, argument});
  if (due_ns != kAtHeartbeat)
    wake_writer_.notify_one();
}

int64_t Recorder::next_alarm_ns() const {
  int64_t next_ns = kAtHeartbeat;
  for (const Alarm& alarm : alarms_)
    next_ns = std::min(next_ns, alarm.due_ns);
  return next_ns;
}

void Recorder::ring_alarms(bool is_heartbeat) {
  std::vector<Alarm> due;
  {
    const std::lock_guard lock(pool_mutex_);
    due.reserve(alarms_.size());
    const int64_t now_ns = monotonic_ns();
    std::erase_if(alarms_, [&](const Alarm& alarm) {
      const bool is_due = alarm.due_ns <= now_ns || (is_heartbeat && alarm.due_ns == kAtHeartbeat);
      if (is_due)
        due.push_back(alarm);
      return is_due;
    });
  }
  for (const Alarm& alarm : due)
    alarm.ring(alarm.argument);
}

Chunk* Recorder::exchange_chunk(Chunk* full, int32_t thread, RowKind kind) {
  if (full != nullptr)
    return_chunk(full);
  if (Chunk* chunk = take_chunk(thread, kind, false))
    return chunk;
  give_up_held();
  write_pending(Extent::full_chunks);  // the writer is too slow: this thread writes the queue
  return take_chunk(thread, kind, true);
}

void Recorder::return_chunk(Chunk* chunk) {
  const std::lock_guard lock(pool_mutex_);
  std::erase(active_, chunk);
  if (closed_) {  // a thread outlived the recording
    pool_.give_back(chunk);
    pool_.discard_free();
    return;
  }
  if (is_holding_) {
    held_.hold(chunk);
    return;
  }
  queue_.push_back(chunk);
  if (queue_.size() == kManyChunks)
    wake_writer_.notify_one();
}

Chunk* Recorder::take_chunk(int32_t thread, RowKind kind, bool may_grow) {
  const std::lock_guard lock(pool_mutex_);
  if (closed_)
    return nullptr;  // a thread was still inside an operator
  Chunk* chunk = pool_.take();
  if (chunk == nullptr && may_grow)
    chunk = pool_.grow();
  if (chunk == nullptr)
    return nullptr;
  chunk->count.store(0, std::memory_order_relaxed);
  chunk->flushed = 0;
  chunk->thread = thread;
  chunk->kind = kind;
  active_.push_back(chunk);
  return chunk;
}

template <class Row>
void Recorder::write_row(const Row& row) {
  encode_table(std::span(&row, 1), encoder_);
  file_.append(encoder_.payload());
}

// The order matters: see which rows are published, take the definitions they may use, then write
// the definitions before the rows.
void Recorder::write_pending(Extent extent) {
  const std::lock_guard file_lock(file_mutex_);
  if (is_holding_) {
    write_held();
    if (extent == Extent::all) {
      write_progress();
      rotate_if_large();
    }
    return;
  }
  std::vector<Chunk*> full;
  std::vector<Chunk*> chunks;
  std::vector<uint32_t> published;
  {
    const std::lock_guard lock(pool_mutex_);
    if (closed_)
      return;
    chunks = queue_;
    if (extent == Extent::all)
      chunks.insert(chunks.end(), active_.begin(), active_.end());
    published.reserve(chunks.size());
    full.swap(queue_);  // nothing may throw from here on: the chunks are in no other list
  }
  for (const Chunk* chunk : chunks)
    published.push_back(chunk->count.load(std::memory_order_acquire));
  clock_.add_pair();
  const bool defined = write_new_definitions();
  for (size_t i = 0; i < chunks.size(); ++i)
    write_rows(*chunks[i], published[i], defined);
  if (extent == Extent::all) {
    write_progress();
    rotate_if_large();
  }
  const std::lock_guard lock(pool_mutex_);
  for (Chunk* chunk : full)
    pool_.give_back(chunk);
}

// If memory ran out half-way, definitions are incomplete, and no row that refers to them is
// written.
bool Recorder::write_new_definitions() try {
  if (definitions_broken_)
    return false;
  NewDefinitions fresh = define([](Definitions& definitions) { return definitions.take_new(); });
  add_hashes(fresh);
  if (write_definitions(fresh, encoder_, file_))
    return true;
  define([&](Definitions& definitions) { definitions.put_back(std::move(fresh)); });
  return false;
} catch (const std::bad_alloc&) {
  definitions_broken_ = true;
  file_.refuse(ENOMEM);
  return false;
}

// Files are read here, on the writer's thread, not where a frame is first seen.
void Recorder::add_hashes(NewDefinitions& fresh) {
  for (FrameRow& frame : fresh.frames) {
    const auto path = [&] {
      return define([&](const Definitions& known) { return known.text(frame.file); });
    };
    frame.text_hash = lines_.hash(frame.file, frame.line, path);
  }
}

void Recorder::write_rows(Chunk& chunk, uint32_t published, bool defined) {
  const uint32_t rows = published - chunk.flushed;
  if (rows == 0)
    return;
  if (chunk.kind == RowKind::memory)
    write_span(std::span<const MemoryRecord>(chunk.memory_rows() + chunk.flushed, rows),
               chunk.thread, defined);
  else
    write_span(std::span<const OperatorRecord>(chunk.rows + chunk.flushed, rows), chunk.thread,
               defined);
  chunk.flushed = published;
}

void Recorder::write_span(std::span<const OperatorRecord> rows, int32_t thread, bool defined) {
  write_encoded(RowKind::operators, rows.size(), [&] {
    if (defined)
      operator_encoder_.encode(rows, thread, clock_, encoder_);
    return defined;
  });
}

void Recorder::write_span(std::span<const MemoryRecord> rows, int32_t thread, bool defined) {
  write_encoded(RowKind::memory, rows.size(), [&] {
    if (defined)
      memory_encoder_.encode(rows, thread, clock_, encoder_);
    return defined;
  });
}

template <class Encode>
void Recorder::write_encoded(RowKind kind, size_t rows, const Encode& encode) {
  const int64_t start = file_.bytes();
  const auto count = static_cast<int64_t>(rows);
  bool encoded = false;
  try {
    encoded = encode();
  } catch (const std::bad_alloc&) {
    file_.refuse(ENOMEM);
  }
  if (!encoded || !file_.append(encoder_.payload())) {
    count_rows(kind, 0, count);
    return;
  }
  last_rows_ = {start, count, kind};
  count_rows(kind, count, 0);
}

void Recorder::count_rows(RowKind kind, int64_t written, int64_t dropped) {
  if (kind == RowKind::memory) {
    dropped_memory_rows_ += dropped;
    return;
  }
  written_rows_ += written;
  dropped_rows_ += dropped;
}

void Recorder::write_progress() try {
  write_row(ProgressRow{.time_ns = monotonic_ns(), .cpu_ns = process_cpu_ns()});
} catch (const std::bad_alloc&) {  // the next loss will say it
}

void Recorder::add_meta(const std::string& key, const std::string& value) {
  const std::lock_guard lock(file_mutex_);
  const MetaRow row{.key = key, .value = value};
  encode_table(std::span(&row, 1), encoder_);
  file_.append_for_all(encoder_.payload());
}

void Recorder::add_loss(const Loss& loss) {
  const std::lock_guard lock(definitions_mutex_);
  losses_.push_back(loss);
}

bool Recorder::add_rows(std::string_view table, std::span<const ColumnView> columns) {
  const std::lock_guard lock(file_mutex_);
  const size_t rows = columns.front().values.size();
  const bool defined = write_new_definitions();
  encoder_.begin(table, rows, columns.size());
  size_t start = columns.size();
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto& [name, values] = columns[i];
    if (name == "time_ns") {
      encoder_.add_delta(name, values);
    } else if (name == "start_ns") {
      start = i;
      encoder_.add_delta(name, values);
    } else if (name == "end_ns" && start < i) {
      encoder_.add_relative(name, values, start, columns[start].values);
    } else {
      encoder_.add_ids(name, values);
    }
  }
  const bool written = defined && file_.append(encoder_.payload());
  const auto count = static_cast<int64_t>(rows);
  if (!written)
    dropped_rows_ += count;
  else if (table == OperatorRecord::kTable)
    written_rows_ += count;
  return written;
}

void Recorder::close() {
  if (!writer_.end())
    return;
  decide(Fate::apart);
  write_pending(Extent::all);
  if (is_holding_)
    write_sums(monotonic_ns());
  KeptSpans::instance().stop();
  const std::lock_guard file_lock(file_mutex_);
  write_end();
  file_.close();
  encoder_ = {};
  operator_encoder_ = {};
  memory_encoder_ = {};
  lines_ = {};
  let_go();
  const std::lock_guard lock(pool_mutex_);
  pool_.discard_free();
  closed_ = true;
}

// A thread in an operator may still read a name for a microsecond. The tables are therefore freed
// when the next recording of the process ends.
void Recorder::let_go() {
  static std::mutex mutex;
  static auto& earlier = *new std::unique_ptr<Definitions>();
  std::unique_ptr<Definitions> own;
  {
    const std::lock_guard lock(definitions_mutex_);
    own = std::move(definitions_);
    losses_ = {};
  }
  const std::lock_guard lock(mutex);
  std::swap(own, earlier);
}

void Recorder::write_end() {
  const bool refused = !write_losses(collect_losses());
  // On a full disk, the newest rows are dropped to make room for the losses.
  if (refused && last_rows_.count > 0 && file_.shorten_to(last_rows_.start)) {
    count_rows(last_rows_.kind, -last_rows_.count, last_rows_.count);
    write_losses(collect_losses());
  }
  write_row(EndRow{.time_ns = monotonic_ns()});
}

bool Recorder::write_losses(const std::vector<Loss>& losses) {
  if (losses.empty())
    return true;
  encode_table(std::span(losses), encoder_);
  return file_.append(encoder_.payload());
}

}  // namespace perfprobe
