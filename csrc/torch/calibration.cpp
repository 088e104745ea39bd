#include "torch/calibration.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "core/clock.h"
#include "torch/observer.h"

namespace perfprobe {
namespace {

// A recorder that keeps one chunk in memory and writes nothing.
class TrialRecorder final : public RecorderPort {
 public:
  TrialRecorder() : chunk_(ChunkPool::map_chunk()) {
    if (chunk_ == nullptr)
      throw std::runtime_error("no memory for the observer's self-test");
  }
  int32_t add_thread(int64_t /*os_thread*/, int64_t /*forward_id*/, const char* /*name*/) override {
    return 0;
  }
  InternedText intern_name(const char* text, bool /*finite*/) override {
    texts_.emplace_back(text);
    return {static_cast<int32_t>(texts_.size() - 1), texts_.back().c_str()};
  }
  int32_t add_signature(Hash128 /*hash*/, const SignatureText& signature) override {
    return intern_name(signature.text, true).id;
  }
  void add_values(int32_t /*signature*/, const char* /*values*/) override {}
  [[nodiscard]] int32_t find_stack(Hash128 /*hash*/) override { return 0; }
  void remember_stack(Hash128 /*hash*/, int32_t /*stack*/) override {}
  int32_t add_call(int32_t /*outer*/, const FrameRef& /*frame*/, int32_t /*module*/) override {
    return 0;
  }
  ModuleRef find_module(const void* /*module*/, const void* /*root*/) override {
    return {kNone, nullptr};
  }
  ModuleRef find_holder(const void* /*parameter*/) override { return {kNone, nullptr}; }
  [[nodiscard]] uint32_t modules_named() const override { return 0; }
  [[nodiscard]] uint32_t module_generation() const override { return 0; }
  void add_module_call(const ModuleCallRow& /*call*/) override {}
  void read_wait(int32_t /*thread*/) override {}
  Chunk* exchange_chunk(Chunk* /*full*/, int32_t thread, RowKind /*kind*/) override {
    chunk_->count = 0;
    chunk_->thread = thread;
    return chunk_;
  }
  void return_chunk(Chunk* /*chunk*/) override {}
  void count_dropped(Dropped /*what*/) override {}
  [[nodiscard]] bool takes_tsc() const override { return ticks_are_tsc; }

  [[nodiscard]] const Chunk& chunk() const { return *chunk_; }
  [[nodiscard]] const std::string& text(int32_t id) const {
    static const std::string out_of_range = "(no text)";
    const auto index = static_cast<size_t>(id);
    return id >= 0 && index < texts_.size() ? texts_[index] : out_of_range;
  }

 private:
  Chunk* chunk_;
  std::deque<std::string> texts_;
};

// Never destroyed: the thread that ran the trial refers to it until its next recording.
TrialRecorder& trial_recorder() {
  static auto* const recorder = new TrialRecorder();
  return *recorder;
}

// While this object lives, the program's dispatch modes (Python code) do not see the operators run
// here, and the trial, which has no locks, does not see those of other threads.
class TrialRun {
 public:
  explicit TrialRun(CpuTime cpu_time = CpuTime::off) {
    start_observer(trial_recorder(), cpu_time, Threads::this_one);
  }
  ~TrialRun() { stop_observer(); }
  TrialRun(const TrialRun&) = delete;
  TrialRun& operator=(const TrialRun&) = delete;

 private:
  c10::impl::ForceDispatchKeyGuard default_dispatch_{c10::default_included_set,
                                                     c10::default_excluded_set};
};

int64_t time_calls(const at::Tensor& tensor, int calls) {
  const int64_t start_ns = thread_cpu_ns();
  for (int i = 0; i < calls; ++i)
    static_cast<void>(tensor.alias());
  return thread_cpu_ns() - start_ns;
}

// Measures nanoseconds per tick, from paired readings some tenths of a millisecond apart.
class TickRate {
 public:
  [[nodiscard]] double ns_per_tick() const {
    const int64_t ticks = read_ticks() - start_ticks_;
    return ticks > 0 ? static_cast<double>(monotonic_ns() - start_ns_) / static_cast<double>(ticks)
                     : 1.0;
  }

 private:
  int64_t start_ticks_ = read_ticks();
  int64_t start_ns_ = monotonic_ns();
};

void record_nothing() {
  RECORD_FUNCTION("perfprobe::empty", c10::ArrayRef<const c10::IValue>{});
}

// Returns the median of `time_of` over the records of empty events.
template <class Time>
int64_t middle_of_empty(CpuTime cpu_time, Time time_of) {
  constexpr size_t kEvents = 2000;
  const TrialRun run(cpu_time);
  std::vector<int64_t> times;
  for (size_t i = 0; i < kEvents; ++i) {
    record_nothing();
    const Chunk& chunk = trial_recorder().chunk();
    if (chunk.count > 0)
      times.push_back(time_of(chunk.rows[chunk.count - 1]));
  }
  if (times.empty())
    throw std::runtime_error("the observer's self-test recorded no empty event");
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

void run_self_test() {
  {
    const TrialRun run;
    at::empty({2, 3});
  }
  const Chunk& chunk = trial_recorder().chunk();
  if (chunk.count == 0)
    throw std::runtime_error("the observer's self-test recorded no operator");
  const OperatorRecord& row = chunk.rows[chunk.count - 1];
  const std::string seen =
      trial_recorder().text(row.name) + " " + trial_recorder().text(row.signature);
  const bool sane =
      row.start_ticks <= row.end_ticks && row.depth == 0 && row.scope == 0 && row.sequence >= -1;
  if (!sane || !seen.starts_with("aten::empty size=(2,3)")) {
    throw std::runtime_error("the observer's self-test ran aten::empty size=(2,3) and read '" +
                             seen + "'");
  }
}

double measure_event_cost_ns(bool cpu_timed) {
  constexpr int kCalls = 500;
  constexpr int kRounds = 7;
  const TrialRun run(cpu_timed ? CpuTime::all : CpuTime::off);
  const at::Tensor tensor = at::empty({4, 4});
  int64_t recorded_ns = std::numeric_limits<int64_t>::max();
  int64_t plain_ns = recorded_ns;
  time_calls(tensor, kCalls);
  // The least of each, not the least difference: a plain round that was interrupted would give a
  // cost below 0.
  for (int round = 0; round < kRounds; ++round) {
    recorded_ns = std::min(recorded_ns, time_calls(tensor, kCalls));
    const at::RecordFunctionGuard unrecorded(/*is_enabled=*/false);
    plain_ns = std::min(plain_ns, time_calls(tensor, kCalls));
  }
  return static_cast<double>(recorded_ns - plain_ns) / kCalls;
}

double measure_cpu_read_ns() {
  constexpr int kReads = 500;
  constexpr int kRounds = 7;
  std::array<int64_t, kRounds> cost_ns{};
  for (int64_t& cost : cost_ns) {
    const int64_t start_ns = monotonic_ns();
    for (int read = 0; read < kReads; ++read)
      static_cast<void>(thread_cpu_ns());
    cost = monotonic_ns() - start_ns;
  }
  return static_cast<double>(*std::min_element(cost_ns.begin(), cost_ns.end())) / kReads;
}

double measure_empty_ns() {
  const TickRate rate;
  const int64_t ticks = middle_of_empty(
      CpuTime::off, [](const OperatorRecord& row) { return row.end_ticks - row.start_ticks; });
  return static_cast<double>(ticks) * rate.ns_per_tick();
}

double measure_empty_cpu_ns() {
  return static_cast<double>(
      middle_of_empty(CpuTime::all, [](const OperatorRecord& row) { return row.cpu_ns; }));
}

}  // namespace perfprobe
