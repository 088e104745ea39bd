// The parts of the recorder that hold rows back until their step has ended, and that rotate files.
#include <new>
#include <span>

#include "core/clock.h"
#include "core/recorder.h"
#include "core/row_block.h"
#include "core/whole_rows.h"

namespace perfprobe {
namespace {

// Kept steps may take this much at once, and this much more each second. With the sums, a day stays
// below 200 MB.
constexpr int64_t kKeptBytes = int64_t{32} << 20;
constexpr int64_t kKeptBytesEachSecond = 400;

}  // namespace

void Recorder::hold_rows() {
  const std::lock_guard lock(pool_mutex_);
  is_holding_ = true;
}

bool Recorder::decide(Fate fate) {
  const std::lock_guard lock(pool_mutex_);
  if (!is_holding_ || closed_)
    return false;
  held_.decide(fate, active_);
  if (held_.ready() >= kManyChunks)
    wake_writer_.notify_one();
  return held_.take_gave_up();
}

bool Recorder::may_keep() const {
  const int64_t seconds = (monotonic_ns() - started_ns_) / kSecondNs;
  return kept_bytes_ < kKeptBytes + seconds * kKeptBytesEachSecond;
}

// Called when the buffer is full. If no rows are decided, the running step is larger than the
// buffer.
void Recorder::give_up_held() {
  const std::lock_guard lock(pool_mutex_);
  if (is_holding_ && held_.ready() == 0)
    held_.give_up();
}

// Called by `write_pending`, which holds the file's lock.
void Recorder::write_held() {
  std::vector<HeldPart> parts;
  {
    const std::lock_guard lock(pool_mutex_);
    if (closed_)
      return;
    parts = held_.take();
  }
  clock_.add_pair();
  const bool defined = write_new_definitions();
  for (const HeldPart& part : parts)
    write_part(part, defined);
  const std::lock_guard lock(pool_mutex_);
  for (const HeldPart& part : parts) {
    if (part.is_last)
      pool_.give_back(part.chunk);
  }
}

void Recorder::write_part(const HeldPart& part, bool defined) {
  const std::span<const OperatorRecord> rows{part.chunk->rows + part.from, part.to - part.from};
  if (rows.empty())
    return;
  try {
    sums_.add(rows, part.chunk->thread, part.fate, clock_);
  } catch (const std::bad_alloc&) {  // no sum has these rows
  }
  watched_rows_ = sums_.rows();
  if (part.fate != Fate::slow)
    return;
  const int64_t before = file_.bytes();
  write_span(rows, part.chunk->thread, defined);
  kept_bytes_ += file_.bytes() - before;
}

void Recorder::write_sums(int64_t until_ns) {
  const std::lock_guard lock(file_mutex_);
  const MappedVector<OperatorSum> rows = sums_.take(until_ns);
  if (rows.empty() || !write_new_definitions())
    return;
  const int64_t before = file_.bytes();
  encode_table(std::span<const OperatorSum>(rows), encoder_);
  file_.append(encoder_.payload());
  sums_bytes_ += file_.bytes() - before;
}

void Recorder::rotate_at(int64_t bytes) {
  const std::lock_guard lock(file_mutex_);
  rotate_bytes_ = bytes;
  file_.may_rotate();
}

// Ends the file as the end of a recording does, and continues in a new one. Definitions and facts,
// which every file holds, do not count towards its size.
void Recorder::rotate_if_large() {
  if (rotate_bytes_ == 0 || file_.bytes() - for_all_bytes_ < rotate_bytes_)
    return;
  const EndRow end{.time_ns = monotonic_ns()};
  encode_table(std::span(&end, 1), encoder_);
  file_.append(encoder_.payload());
  if (!file_.rotate()) {
    rotate_bytes_ = 0;
    add_loss({"recording", "no further file could be made: the recording continued in one file", 1,
              "free some space there, or choose another place with -o"});
    return;
  }
  last_rows_.count = 0;
  for_all_bytes_ = file_.bytes();
}

}  // namespace perfprobe
