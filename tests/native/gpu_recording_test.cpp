// The CUPTI client with a stand-in that needs no GPU and simulates faults: counts and times are
// those of the calls that this program made.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/watching.h"
#include "on_standin.h"

using namespace perfprobe::test;
using perfprobe::Recorder;

namespace {

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
  // 16 kernels, 2 copies, a fill, 2 waits; calls: 10 + 1 + 1 + 2 + 1 + 2, without the query; the
  // canary and its call.
  CHECK_EQUAL(result.figures.rows.records, 16 + 3 + 2 + 17 + 2);
  CHECK_EQUAL(result.figures.rows.untimed, 0);
  CHECK_EQUAL(result.figures.dropped_records, 0);
  CHECK(result.figures.is_canary_seen);
  CHECK(!result.figures.is_broken);
  check_left_clean();
}

// By their numbers in cupti_runtime_cbid.h and cupti_driver_cbid.h.
void launches_are_recorded_and_queries_are_not() {
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
void a_second_recording_has_only_its_own_records() {
  for (int count = 3; count <= 5; ++count) {
    const Result result = record([count](Recorder&) { launch_many(count, 1); });
    CHECK_EQUAL(result.totals.kernels.calls, count);
    CHECK_EQUAL(result.totals.kernels.ns, count * int64_t{kKernelNs});
    // This version spoils the first ones if the clock was registered again.
    CHECK_EQUAL(result.figures.rows.shifted, 0);
    CHECK(result.figures.is_canary_seen);
    check_left_clean();
    launch_many(1, 1);  // outside of any recording
  }
}

void many_small_buffers() {
  const Setting setting("STANDIN_BUFFER", "10000");
  const Result result = record([](Recorder&) { launch_many(500, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 500);
  CHECK(result.figures.buffers.completed > 10);
  CHECK_EQUAL(result.figures.buffers.refused, 0);
  CHECK_EQUAL(result.figures.dropped_records, 0);
}

// More requests at once than there may be buffers. Only newer versions tolerate a refusal.
void refused_requests_are_counted() {
  const Setting setting("STANDIN_BUFFER", "300");
  const Setting kept("STANDIN_SLOW_FLUSH", "1");
  const Result result = record([](Recorder&) { launch_many(2000, 1); });
  CHECK_EQUAL(result.figures.rows.records + result.figures.dropped_records, 2 * 2000 + 2 + 2);
  CHECK(result.figures.dropped_records > 0);
  CHECK(result.figures.buffers.refused > 0);
  CHECK_EQUAL(result.figures.buffers.lent(), 0);
  const Result next = record([](Recorder&) { launch_many(1, 1); });
  CHECK_EQUAL(next.figures.buffers.refused, 0);
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

// A program may launch during a flush.
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

void enter_window(bool is_within) {
  perfprobe::is_in_window = is_within;
  if (void (*changed)() = perfprobe::window_changed; changed != nullptr)
    changed();
}

void nothing_is_recorded_outside_of_windows() {
  enter_window(false);
  const Result result = record([](Recorder&) {
    CHECK_EQUAL(kinds(), uint64_t{0});
    CHECK_EQUAL(is_traced(1, 307), 0U);
    launch_many(3, 1);
    enter_window(true);
    CHECK_EQUAL(is_traced(2, 211), 1U);
    CHECK_EQUAL(is_traced(2, 17), 0U);  // queries stay left out
    CHECK_EQUAL(is_traced(1, 307), 1U);
    launch_many(4, 1);
    enter_window(false);
    launch_many(5, 1);
  });
  enter_window(true);
  CHECK_EQUAL(result.totals.kernels.calls, 4);
  CHECK_EQUAL(result.totals.waits[3].calls, 1);
  CHECK_EQUAL(result.figures.unresumed, 0);
  CHECK(result.figures.is_canary_seen);
  check_left_clean();
}

void refused(const char* name, const char* value, const char* reason) {
  const Setting setting(name, value);
  const Result result = record([](Recorder&) { CHECK(false); });
  if (result.refusal.find(reason) == std::string::npos)
    CHECK_EQUAL(result.refusal, reason);
  check_left_clean();
}

void refusals_have_a_reason_in_words() {
  refused("STANDIN_CLIENT", "CUPTI for Kineto",
          "another tool uses CUPTI already: CUPTI for Kineto (");
  refused("STANDIN_FAIL", "cuptiSubscribe=15", "older than this CUPTI");
  // The other client has ended or shares: what cuptiSubscribe_v2 returned is released.
  refused("STANDIN_FAIL", "cuptiSubscribe=39", "another tool uses CUPTI already (");
  refused("STANDIN_FAIL", "cuptiActivityEnable10=35",
          "administrators (cuptiActivityEnable 10: 35)");
  refused("STANDIN_FAIL", "cuptiActivityEnable5=43", "(MIG)");
  refused("STANDIN_FAIL", "cuptiActivityEnable10=14", "newer interface");
  refused("STANDIN_FAIL", "cuptiActivityEnable10=42", "mining processors");
  refused("STANDIN_CLIENT", "CUPTI for <not provided>", "such as torch.profiler (");
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

void our_own_wait_at_the_end_is_no_wait_of_the_program() {
  const Result result = record([](Recorder&) { launch("kernel", 50'000'000, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 1);
  CHECK_EQUAL(result.totals.kernels.ns, 50'000'000);
  CHECK_EQUAL(result.totals.waits[4].calls, 0);
  CHECK(!result.figures.is_unfinished);
  // The kernel, its launch, and the canary with its call.
  CHECK_EQUAL(result.figures.rows.records, 4);
}

Result record_graphs(perfprobe::GraphDetail graphs) {
  Recorder& recorder = make_recorder();
  auto& recording = *new perfprobe::GpuRecording(recorder, {}, false, graphs);
  CHECK(!recording.start());
  for (int i = 0; i < 3; ++i)
    launch_graph("node", 5, kKernelNs, 7);
  synchronize(7);
  recording.stop();
  check_left_clean();
  return {"", recording.totals(), recording.figures()};
}

void graphs_are_recorded_by_node_or_as_a_whole() {
  for (const auto graphs : {perfprobe::GraphDetail::nodes, perfprobe::GraphDetail::launches}) {
    const bool is_whole = graphs == perfprobe::GraphDetail::launches;
    const Result result = record_graphs(graphs);
    CHECK_EQUAL(result.totals.kernels.calls, is_whole ? 3 : 15);
    CHECK_EQUAL(result.totals.kernels.ns, 15 * int64_t{kKernelNs});
    CHECK_EQUAL(result.figures.rows.most_nodes, is_whole ? 0 : 5);
  }
}

void a_file_that_is_not_cupti_is_refused() {
  setenv("PERFPROBE_CUPTI", "/nowhere/libcupti.so.13", 1);
  refused("PERFPROBE_UNUSED", "", "driver");
  setenv("PERFPROBE_CUPTI", STANDIN, 1);
}

// The library that the program has mapped takes precedence over a named one.
void the_library_in_the_process_takes_precedence() {
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
  use_standin();
  everything_is_counted();
  launches_are_recorded_and_queries_are_not();
  threads_and_forks_lose_nothing();
  a_second_recording_has_only_its_own_records();
  many_small_buffers();
  refused_requests_are_counted();
  dropped_records_are_counted();
  kernels_without_times_are_counted();
  a_slow_flush_loses_nothing();
  another_client_that_takes_over_is_noticed();
  nothing_is_recorded_outside_of_windows();
  refusals_have_a_reason_in_words();
  a_kind_that_is_refused_is_left_out();
  our_own_wait_at_the_end_is_no_wait_of_the_program();
  graphs_are_recorded_by_node_or_as_a_whole();
  a_file_that_is_not_cupti_is_refused();
  the_library_in_the_process_takes_precedence();
  return perfprobe::test::report();
}
