#include "gpu/gpu_recording.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#include "core/clock.h"
#include "core/watching.h"
#include "gpu/bounded_call.h"
#include "gpu/cupti_records.h"

namespace perfprobe {
namespace {

constexpr int64_t kFlushNs = 250'000'000;
constexpr int64_t kCanaryNs = 2'000'000'000;
constexpr int64_t kLastBuffersNs = 200'000'000;
constexpr int64_t kLookNs = 5'000'000;
constexpr int64_t kWorkNs = 2'000'000'000;

std::atomic<GpuRecording*> following{nullptr};

// Discards what came after an earlier recording had ended, and records of the timed calls.
void discard_buffers() {
  for (auto full = cupti_buffers().take(); full.memory != nullptr; full = cupti_buffers().take())
    cupti_buffers().give_back(full);
}

}  // namespace

std::optional<CuptiFault> GpuRecording::start() {
  if (is_driver_assumed())
    library_ = find_cupti(hints_);
  if (auto fault = driver_.open(library_.handle); fault)
    return fault;
  if (library_.handle == nullptr)
    library_ = find_cupti(hints_);
  if (library_.handle == nullptr)
    return CuptiFault{"there is no libcupti (looked for " + library_.tried + ")",
                      "name it in the variable PERFPROBE_CUPTI"};
  if (const std::string missing = load_cupti(library_.handle, api_); !missing.empty())
    return CuptiFault{library_.path + " has no " + missing, "name another in PERFPROBE_CUPTI"};
  external_ids_ = {cupti::kExternalKind, api_.push_external_id, api_.pop_external_id};
  rows_ = std::make_unique<GpuRows>(recorder_, api_.next_record, api_.callback_name, totals_);
  figures_.started_ns = monotonic_ns();
  rows_->begin_session(figures_.started_ns);
  if (auto fault = session_.open(with_ids_); fault)
    return fault;
  session_.flush();
  discard_buffers();
  buffers_before_ = cupti_buffers().figures();
  if (auto fault = keep_buffers(); fault) {
    session_.flush_last([] {});
    session_.close();
    return fault;
  }
  if (const int error = thread_.start(); error != 0) {
    session_.flush_last([] {});
    session_.close();
    return CuptiFault{ThreadRefused("its thread", error).what(), ""};
  }
  recorder_.join_forks(thread_);
  has_begun_ = true;
  if (graphs_ == GraphDetail::launches)
    session_.record_whole_graphs();
  follow_windows();
  return std::nullopt;
}

// The loop's thread enters and leaves windows of steps, and CUPTI records in them alone.
void GpuRecording::follow_windows() {
  {
    const std::lock_guard lock(windows_mutex_);
    follows_windows_ = true;
  }
  following = this;
  window_changed = [] {
    if (GpuRecording* recording = following; recording != nullptr)
      recording->see_window();
  };
  see_window();
}

void GpuRecording::see_window() {
  const std::lock_guard lock(windows_mutex_);
  if (!follows_windows_ || is_in_window != session_.is_paused())
    return;
  if (!is_in_window)
    session_.pause();
  else if (!session_.resume())
    ++figures_.unresumed;
}

// What tells whether records still arrive at the end is a record too.
void GpuRecording::leave_windows() {
  window_changed = nullptr;
  following = nullptr;
  const std::lock_guard lock(windows_mutex_);
  follows_windows_ = false;
  if (session_.is_paused())
    static_cast<void>(session_.resume());
}

// For tests: saves what CUPTI delivers, unchanged, in the file that PERFPROBE_CUPTI_FIXTURE names.
std::optional<CuptiFault> GpuRecording::keep_buffers() {
  const char* path = std::getenv("PERFPROBE_CUPTI_FIXTURE");
  if (path == nullptr || *path == '\0')
    return std::nullopt;
  std::string origin = is_driver_assumed() ? "synthetic" : "recorded";
  for (const GpuDevice& device : driver_.devices())
    origin += ", " + device.name;
  const std::string name = library_.path.substr(library_.path.rfind('/') + 1);
  origin += ", driver " + std::to_string(driver_.version()) + ", " + name;
  try {
    fixture_.emplace(path, origin, session_.version(), api_.next_record, api_.callback_name);
  } catch (const std::system_error& error) {
    return CuptiFault{std::string("PERFPROBE_CUPTI_FIXTURE: ") + error.what(), ""};
  }
  keep_clocks();
  return std::nullopt;
}

// CUPTI was given our clock, so its clock and the monotonic one are the same.
void GpuRecording::keep_clocks() {
  if (!fixture_)
    return;
  const auto monotonic = static_cast<uint64_t>(monotonic_ns());
  fixture_->add_clocks(
      {monotonic, static_cast<uint64_t>(read_clock_ns(CLOCK_REALTIME)), monotonic});
}

void GpuRecording::stop() {
  if (!has_begun_)
    return;
  recorder_.leave_forks(thread_);
  if (!thread_.end())
    return;
  leave_windows();
  figures_.had_context = driver_.has_context();
  figures_.is_unfinished = !await_work();
  session_.flush();
  drain();  // makes room for the last buffers
  if (figures_.is_unfinished) {
    session_.leave();
    drain();
  } else {
    is_ending_ = true;
    session_.flush_last([this] { driver_.make_traced_call(); });
    await_records();
    session_.close();
  }
  figures_.dropped_records = session_.dropped_records();
  keep_clocks();
  if (fixture_)
    fixture_->close(static_cast<uint64_t>(figures_.dropped_records));
  figures_.stopped_ns = monotonic_ns();
}

// A kernel may never end: one of NCCL spins for ever if another rank has died.
bool GpuRecording::await_work() {
  session_.pause_calls();
  const bool has_ended = ends_within([this] { driver_.await_work(); }, kWorkNs);
  if (has_ended)
    session_.resume_calls();
  return has_ended;
}

// Records may arrive a moment after the call that requested them. If the program used no GPU, there
// are none to wait for.
void GpuRecording::await_records() {
  const int64_t until_ns = monotonic_ns() + (figures_.had_context ? kCanaryNs : 0);
  drain();
  while (!figures_.is_canary_seen && !figures_.is_broken && monotonic_ns() < until_ns) {
    cupti_buffers().wait(monotonic_ns() + kLookNs);
    drain();
  }
  // Each thread has a buffer. They arrive in any order, so some may come after the canary's.
  const int64_t last_ns = monotonic_ns() + (figures_.had_context ? kLastBuffersNs : 0);
  while (own_buffers().lent() > 0 && !figures_.is_broken && monotonic_ns() < last_ns) {
    cupti_buffers().wait(monotonic_ns() + kLookNs);
    drain();
  }
  drain();
}

GpuFigures GpuRecording::figures() const {
  GpuFigures figures = figures_;
  if (rows_ != nullptr)
    figures.rows = rows_->figures();
  figures.states = states_.figures();
  figures.buffers = own_buffers();
  return figures;
}

// A buffer that an earlier recording left with CUPTI may arrive during this one.
BufferFigures GpuRecording::own_buffers() const {
  BufferFigures own = cupti_buffers().figures();
  own.requested -= buffers_before_.requested;
  own.refused -= buffers_before_.refused;
  own.foreign -= buffers_before_.foreign;
  own.completed = std::min(own.completed - buffers_before_.completed, own.requested - own.refused);
  return own;
}

void GpuRecording::run() {
  const int64_t before_ns = figures_.cpu_ns;
  int64_t due_ns = monotonic_ns() + kFlushNs;
  while (!thread_.leaving()) {
    cupti_buffers().wait(std::min(due_ns, states_.due_ns()));
    if (monotonic_ns() >= due_ns) {
      fetch();
      due_ns = monotonic_ns() + kFlushNs;
    }
    drain();
    if (const int64_t now_ns = monotonic_ns(); now_ns >= states_.due_ns())
      states_.read(now_ns);
    figures_.cpu_ns = before_ns + thread_cpu_ns();
  }
}

void GpuRecording::fetch() {
  if (!session_.may_fetch())
    return;
  session_.flush();
  ++figures_.flushes;
}

// An error here must not end the program. The recording ends, and `figures` says so. Buffers are
// still emptied, because CUPTI requests more.
void GpuRecording::drain() {
  for (auto full = cupti_buffers().take(); full.memory != nullptr; full = cupti_buffers().take()) {
    try {
      if (is_ending_ && session_.has_canary(full.memory, full.valid_bytes))
        figures_.is_canary_seen = true;
      if (fixture_)
        fixture_->take(full.memory, full.valid_bytes);
      if (!figures_.is_broken)
        rows_->take(full.memory, full.valid_bytes);
    } catch (const std::bad_alloc&) {
      figures_.is_broken = true;
    }
    cupti_buffers().give_back(full);
  }
  try {
    if (!figures_.is_broken)
      rows_->write();
    cupti_buffers().keep_spares();
  } catch (const std::bad_alloc&) {
    figures_.is_broken = true;
  }
}

}  // namespace perfprobe
