// The client of CUPTI against a libcupti that needs no GPU and does wrong what it is told to:
// counts and times are those of the calls that this program made.
#include "gpu/gpu_recording.h"

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "core/clock.h"
#include "standin/standin.h"

namespace {

using perfprobe::CuptiFault;
using perfprobe::GpuFigures;
using perfprobe::GpuRecording;
using perfprobe::GpuTotalsSnapshot;
using perfprobe::Recorder;

constexpr uint64_t kKernelNs = 1000;

template <class Function>
Function* find(const char* name) {
  static void* library = dlopen(STANDIN, RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

const auto launch = find<decltype(standin_launch)>("standin_launch");
const auto launch_by_driver = find<decltype(standin_launch_by_driver)>("standin_launch_by_driver");
const auto launch_graph = find<decltype(standin_launch_graph)>("standin_launch_graph");
const auto copy = find<decltype(standin_copy)>("standin_copy");
const auto fill = find<decltype(standin_fill)>("standin_fill");
const auto synchronize = find<decltype(standin_synchronize)>("standin_synchronize");
const auto ask = find<decltype(standin_ask)>("standin_ask");
const auto take_over = find<decltype(standin_take_over)>("standin_take_over");
const auto kinds = find<decltype(standin_kinds)>("standin_kinds");
const auto is_subscribed = find<decltype(standin_is_subscribed)>("standin_is_subscribed");
const auto is_traced = find<decltype(standin_is_traced)>("standin_is_traced");
const auto are_zeros_promised =
    find<decltype(standin_are_zeros_promised)>("standin_are_zeros_promised");

// For one scope: what the stand-in shall do wrong.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

// A recorder is never destroyed, so neither is what points to it.
std::vector<Recorder*>& recorders() {
  static auto& all = *new std::vector<Recorder*>;
  return all;
}

Recorder& make_recorder() {
  const std::string path = "/tmp/gpu_recording_test." + std::to_string(::getpid()) + "." +
                           std::to_string(recorders().size());
  recorders().push_back(new Recorder(path, size_t{4} << 20, 50'000'000));
  ::unlink(path.c_str());
  return *recorders().back();
}

struct Result {
  std::string refusal;
  GpuTotalsSnapshot totals;
  GpuFigures figures;
};

template <class Program>
Result record(Program program) {
  static auto& recordings = *new std::vector<GpuRecording*>;
  Recorder& recorder = make_recorder();
  recordings.push_back(new GpuRecording(recorder, {}, false));
  GpuRecording& recording = *recordings.back();
  Result result;
  if (const auto fault = recording.start(); fault) {
    result.refusal = fault->reason;
  } else {
    program(recorder);
  }
  recording.stop();
  result.totals = recording.totals();
  result.figures = recording.figures();
  recorder.close();
  return result;
}

void launch_many(int count, uint32_t stream) {
  for (int i = 0; i < count; ++i)
    launch("kernel", kKernelNs, stream);
  synchronize(stream);
}

void check_left_clean() {
  CHECK_EQUAL(kinds(), uint64_t{0});
  CHECK_EQUAL(is_subscribed(), 0U);
  CHECK_EQUAL(are_zeros_promised(), 0U);
}

void everything_is_counted() {
  const Result result = record([](Recorder&) {
    CHECK_EQUAL(is_subscribed(), 1U);
    launch_many(10, 7);
    launch_by_driver("triton", 2 * kKernelNs, 7);
    launch_graph("node", 5, kKernelNs, 7);
    copy(1, 2, 3, 1, 4096, 500, 7);
    copy(2, 3, 1, 0, 100, 700, 7);
    fill(64, 300, 7);
    ask();
    synchronize(7);
  });
  CHECK_EQUAL(result.refusal, "");
  CHECK_EQUAL(result.totals.kernels.calls, 16);
  CHECK_EQUAL(result.totals.kernels.ns, 17 * int64_t{kKernelNs});
  CHECK_EQUAL(result.totals.copies[1].bytes, 4096);
  CHECK_EQUAL(result.totals.copies[1].ns, 500);
  CHECK_EQUAL(result.totals.copies[2].calls, 1);
  CHECK_EQUAL(result.totals.copies[2].bytes, 100);
  CHECK_EQUAL(result.totals.fills.bytes, 64);
  CHECK_EQUAL(result.totals.waits[3].calls, 2);
  // 16 kernels, 2 copies, a fill, 2 waits; calls: 10 + 1 + 1 + 2 + 1 + 2 and not the one that
  // asked; the canary and its call.
  CHECK_EQUAL(result.figures.rows.records, 16 + 3 + 2 + 17 + 2);
  CHECK_EQUAL(result.figures.rows.untimed, 0);
  CHECK_EQUAL(result.figures.dropped_records, 0);
  CHECK(result.figures.is_canary_seen);
  CHECK(!result.figures.is_broken);
  check_left_clean();
}

// By their numbers in cupti_runtime_cbid.h and cupti_driver_cbid.h.
void launches_are_traced_and_questions_are_not() {
  record([](Recorder&) {
    for (const uint32_t launch_call : {211U, 311U, 505U})
      CHECK_EQUAL(is_traced(2, launch_call), 1U);
    for (const uint32_t question : {17U, 503U})
      CHECK_EQUAL(is_traced(2, question), 0U);
    CHECK_EQUAL(is_traced(1, 307), 1U);
    CHECK_EQUAL(are_zeros_promised(), 1U);
  });
  check_left_clean();
}

void threads_and_forks_lose_nothing() {
  constexpr int kThreads = 4;
  constexpr int kLaunches = 2000;
  const Result result = record([](Recorder& recorder) {
    std::vector<std::thread> threads;
    for (uint32_t stream = 1; stream <= kThreads; ++stream)
      threads.emplace_back([stream] { launch_many(kLaunches, stream); });
    for (int i = 0; i < 5; ++i) {
      recorder.pause();
      recorder.resume();
    }
    for (std::thread& thread : threads)
      thread.join();
  });
  CHECK_EQUAL(result.totals.kernels.calls, kThreads * kLaunches);
  CHECK_EQUAL(result.totals.kernels.ns, kThreads * kLaunches * int64_t{kKernelNs});
  CHECK(result.figures.is_canary_seen);
}

// Each recording of a process counts its own.
void recordings_follow_each_other() {
  for (int count = 1; count <= 3; ++count) {
    const Result result = record([count](Recorder&) { launch_many(count, 1); });
    CHECK_EQUAL(result.totals.kernels.calls, count);
    CHECK(result.figures.is_canary_seen);
    check_left_clean();
    launch_many(1, 1);  // of nobody
  }
}

void many_small_buffers() {
  const Setting setting("STANDIN_BUFFER", "10000");
  const int64_t before = perfprobe::cupti_buffers().figures().completed;
  const Result result = record([](Recorder&) { launch_many(500, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 500);
  CHECK(result.figures.buffers.completed - before > 10);
  CHECK_EQUAL(result.figures.dropped_records, 0);
}

// More at once than there may be buffers: only the newer versions can be refused one.
void what_is_refused_is_counted() {
  const Setting setting("STANDIN_BUFFER", "1000");
  const Result result = record([](Recorder&) { launch_many(200, 1); });
  CHECK_EQUAL(result.figures.rows.records + result.figures.dropped_records, 2 * 200 + 2 + 2);
  CHECK_EQUAL(result.figures.dropped_records > 0, result.figures.buffers.refused > 0);
  CHECK(result.figures.is_canary_seen);
}

void dropped_records_are_counted() {
  const Setting setting("STANDIN_DROP", "10");
  const Result result = record([](Recorder&) { launch_many(100, 1); });
  CHECK_EQUAL(result.totals.kernels.calls + result.figures.dropped_records, 100);
  CHECK_EQUAL(result.figures.dropped_records, 10);
}

void kernels_without_times_are_counted() {
  const Setting setting("STANDIN_UNTIMED", "4");
  const Result result = record([](Recorder&) { launch_many(100, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 100);
  CHECK_EQUAL(result.totals.kernels.ns, 75 * int64_t{kKernelNs});
  CHECK_EQUAL(result.figures.rows.untimed, 25);
}

// A program may launch while a flush is under way.
void a_slow_flush_loses_nothing() {
  const Setting setting("STANDIN_SLOW_FLUSH", "100");
  const Result result = record([](Recorder&) {
    const int64_t until_ns = perfprobe::monotonic_ns() + 400'000'000;
    while (perfprobe::monotonic_ns() < until_ns)
      launch("kernel", kKernelNs, 1);
    launch_many(1, 1);
  });
  CHECK(result.totals.kernels.calls > 1);
  CHECK_EQUAL(result.totals.kernels.ns, result.totals.kernels.calls * int64_t{kKernelNs});
  CHECK(result.figures.is_canary_seen);
}

void another_client_that_takes_over_is_noticed() {
  const Result result = record([](Recorder&) {
    launch_many(3, 1);
    take_over();
    launch_many(3, 1);
  });
  CHECK(!result.figures.is_canary_seen);
  check_left_clean();
}

void refused(const char* name, const char* value, const char* reason) {
  const Setting setting(name, value);
  const Result result = record([](Recorder&) { CHECK(false); });
  if (result.refusal.find(reason) == std::string::npos)
    CHECK_EQUAL(result.refusal, reason);
  check_left_clean();
}

void refusals_are_told_in_words() {
  refused("STANDIN_CLIENT", "CUPTI for Kineto",
          "another tool uses CUPTI already: CUPTI for Kineto (");
  refused("STANDIN_FAIL", "cuptiSubscribe_v2=15", "older than this CUPTI");
  refused("STANDIN_FAIL", "cuptiActivityEnable10=35",
          "administrators (cuptiActivityEnable 10: 35)");
  refused("STANDIN_FAIL", "cuptiActivityEnable5=43", "(MIG)");
  refused("STANDIN_FAIL", "cuptiActivityRegisterCallbacks=1", "RegisterCallbacks: 1");
  refused("STANDIN_FAIL", "cuptiGetVersion=999", "cannot work with this driver");
  refused("STANDIN_FAIL", "cuInit=100", "cuInit: 100");
  refused("STANDIN_DEVICES", "0", "no device");
}

void a_kind_that_is_refused_is_left_out() {
  const Setting setting("STANDIN_FAIL", "cuptiActivityEnable1=27");
  const Result result = record([](Recorder&) {
    launch_many(3, 1);
    copy(1, 2, 3, 1, 4096, 500, 1);
    synchronize(1);
  });
  CHECK_EQUAL(result.refusal, "");
  CHECK_EQUAL(result.totals.kernels.calls, 3);
  CHECK_EQUAL(result.totals.copies[1].calls, 0);
}

void a_library_that_is_none_is_refused() {
  setenv("PERFPROBE_CUPTI", "/nowhere/libcupti.so.13", 1);
  refused("PERFPROBE_UNUSED", "", "driver");
  setenv("PERFPROBE_CUPTI", STANDIN, 1);
}

// What the program has mapped comes before anything that is named.
void the_mapped_library_comes_first() {
  unsetenv("PERFPROBE_ASSUME_DRIVER");
  setenv("PERFPROBE_CUPTI", "/nowhere/libcupti.so.13", 1);
  const perfprobe::VendorLibrary library = perfprobe::find_cupti({13, {}});
  CHECK_EQUAL(library.path, STANDIN);
  CHECK_EQUAL(library.how, "mapped by the program");
  CHECK(!perfprobe::is_driver_assumed());
  setenv("PERFPROBE_CUPTI", STANDIN, 1);
  setenv("PERFPROBE_ASSUME_DRIVER", "1", 1);
}

}  // namespace

int main() {
  setenv("PERFPROBE_CUPTI", STANDIN, 1);
  setenv("PERFPROBE_ASSUME_DRIVER", "1", 1);
  everything_is_counted();
  launches_are_traced_and_questions_are_not();
  threads_and_forks_lose_nothing();
  recordings_follow_each_other();
  many_small_buffers();
  what_is_refused_is_counted();
  dropped_records_are_counted();
  kernels_without_times_are_counted();
  a_slow_flush_loses_nothing();
  another_client_that_takes_over_is_noticed();
  refusals_are_told_in_words();
  a_kind_that_is_refused_is_left_out();
  a_library_that_is_none_is_refused();
  the_mapped_library_comes_first();
  return perfprobe::test::report();
}
