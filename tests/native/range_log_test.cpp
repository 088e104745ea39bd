// Ranges as the program's libraries set them, through the injection library that NVTX loads: wrong
// nesting, threads, forks, and ranges before and after a recording.
#include "gpu/range_log.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "core/watching.h"
#include "gpu/itt_ranges.h"

#ifdef NVTX_LISTENER
#include <nvtx3/nvToolsExt.h>

#include "gpu/injections/nvtx_abi.h"

// Our declarations, compared with the real ones.
namespace abi = perfprobe::nvtx;
static_assert(sizeof(abi::Attributes) == sizeof(nvtxEventAttributes_t));
static_assert(offsetof(abi::Attributes, message_type) ==
              offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(abi::Attributes, message) == offsetof(nvtxEventAttributes_t, message));
static_assert(int{abi::kRegistered} == int{NVTX_MESSAGE_TYPE_REGISTERED});
static_assert(abi::kNoTracking == NVTX_NO_PUSH_POP_TRACKING);
static_assert(sizeof(abi::Callbacks) == sizeof(NvtxExportTableCallbacks));
static_assert(abi::kCallbacksId == uint32_t{NVTX_ETID_CALLBACKS});
static_assert(int{abi::kCore} == int{NVTX_CB_MODULE_CORE});
static_assert(int{abi::kCore2} == int{NVTX_CB_MODULE_CORE2});
static_assert(unsigned{abi::kRangePop} == unsigned{NVTX_CBID_CORE_RangePop});
static_assert(unsigned{abi::kNameOsThreadW} == unsigned{NVTX_CBID_CORE_NameOsThreadW});
static_assert(unsigned{abi::kDomainRangePop} == unsigned{NVTX_CBID_CORE2_DomainRangePop});
static_assert(unsigned{abi::kDomainCreateW} == unsigned{NVTX_CBID_CORE2_DomainCreateW});
#endif

namespace itt = perfprobe::itt;
using perfprobe::RangeFigures;
using perfprobe::RangeLog;
using perfprobe::RangeNames;
using perfprobe::RangeSink;
using perfprobe::RangeSource;
using perfprobe::Recorder;

namespace {

constexpr int64_t kFlushNs = 5'000'000;
constexpr auto kNvtx = RangeSource::nvtx;

std::string folder() {
  static const std::string made = [] {
    char pattern[] = "/tmp/perfprobe-ranges-XXXXXX";
    return std::string(mkdtemp(pattern));
  }();
  return made;
}

std::string next_path() {
  static int number = 0;
  return folder() + "/" + std::to_string(::getpid()) + "." + std::to_string(number++);
}

auto* recorders = new std::vector<Recorder*>;

// The ranges of `run`. The recorder is closed but never destroyed.
template <class Run>
RangeFigures record(Run run) {
  auto* recorder = new Recorder(next_path(), size_t{4} << 20, kFlushNs);
  recorders->push_back(recorder);
  RangeLog::instance().begin(*recorder);
  run();
  const RangeFigures figures = RangeLog::instance().end();
  recorder->close();
  return figures;
}

int64_t rows(const RangeFigures& figures, RangeSource source) {
  return figures.rows[static_cast<size_t>(source)];
}

const RangeSink& sink() {
  return RangeLog::sink();
}

void ends_are_matched_with_their_begins() {
  const int32_t name = sink().name("a");
  const int32_t domain = sink().name("domain");
  const RangeFigures figures = record([&] {
    sink().push(kNvtx, -1, name);
    sink().push(kNvtx, domain, name);
    sink().pop(kNvtx, -1);  // not the innermost range, which is in another domain
    sink().pop(kNvtx, domain);
    sink().pop(kNvtx, domain);  // without a push
    sink().end(kNvtx, sink().start(kNvtx, -1, name));
    sink().end(kNvtx, 12345);
    sink().mark(kNvtx, -1, name);
    sink().push(kNvtx, -1, name);  // never ended
    static_cast<void>(sink().start(kNvtx, -1, name));
  });
  CHECK_EQUAL(rows(figures, kNvtx), 6);
  CHECK_EQUAL(figures.open, 2);
  CHECK_EQUAL(figures.unmatched, 2);
  CHECK_EQUAL(figures.lost + figures.too_many + figures.beyond, 0);
}

// Their ends are still matched: those of a window do not end the wrong range.
void ranges_that_begin_outside_of_a_window_are_left_out() {
  const int32_t name = sink().name("window");
  const RangeFigures figures = record([&] {
    sink().push(kNvtx, -1, name);
    perfprobe::is_in_window = false;
    sink().push(kNvtx, -1, name);
    const int64_t outside = sink().start(kNvtx, -1, name);
    sink().mark(kNvtx, -1, name);
    perfprobe::is_in_window = true;
    sink().pop(kNvtx, -1);  // the second one
    sink().end(kNvtx, outside);
    perfprobe::is_in_window = false;
    sink().push(kNvtx, -1, name);
    sink().pop(kNvtx, -1);
    sink().pop(kNvtx, -1);         // the first one
    sink().push(kNvtx, -1, name);  // never ended
    perfprobe::is_in_window = true;
  });
  CHECK_EQUAL(rows(figures, kNvtx), 1);
  CHECK_EQUAL(figures.open + figures.unmatched + figures.beyond, 0);
}

void a_recording_has_no_ranges_of_the_one_before() {
  const int32_t name = sink().name("between");
  sink().push(kNvtx, -1, name);
  CHECK_EQUAL(sink().start(kNvtx, -1, name), 0);
  const RangeFigures figures = record([&] { sink().pop(kNvtx, -1); });
  CHECK_EQUAL(rows(figures, kNvtx), 0);
  CHECK_EQUAL(figures.unmatched, 1);
  sink().pop(kNvtx, -1);
  CHECK_EQUAL(RangeLog::instance().end().rows[0], 0);  // it has ended already
  CHECK_EQUAL(sink().name("between"), name);           // valid until the process ends
}

void more_ranges_than_a_ring_holds_are_recorded() {
  constexpr int kMany = 100'000;
  const int32_t name = sink().name("many");
  const RangeFigures figures = record([&] {
    for (int i = 0; i < kMany; ++i) {
      sink().push(kNvtx, -1, name);
      sink().pop(kNvtx, -1);
    }
  });
  CHECK_EQUAL(rows(figures, kNvtx), kMany);
}

void ranges_nested_too_deep_are_counted() {
  constexpr int kDeep = 5000;
  const int32_t name = sink().name("deep");
  const RangeFigures figures = record([&] {
    for (int i = 0; i < kDeep; ++i)
      sink().push(kNvtx, -1, name);
    for (int i = 0; i < kDeep; ++i)
      sink().pop(kNvtx, -1);
  });
  CHECK_EQUAL(rows(figures, kNvtx), 4096);
  CHECK_EQUAL(figures.too_many, kDeep - 4096);
  CHECK_EQUAL(figures.unmatched + figures.open, 0);
}

void long_missing_and_invalid_names() {
  const std::string text(5000, 'x');
  const std::string cut(sink().text(sink().name(text.c_str())));
  CHECK_EQUAL(cut.size(), RangeNames::kMostBytes);
  const std::string accents = std::string(1023, 'x') + "\xC3\xA9";
  CHECK_EQUAL(std::string(sink().text(sink().name(accents.c_str()))).size(), size_t{1023});
  CHECK_EQUAL(std::string(sink().text(sink().name(nullptr))), "(unnamed)");
  CHECK_EQUAL(std::string(sink().text(sink().wide_name(nullptr))), "(unnamed)");
  CHECK_EQUAL(std::string(sink().text(sink().wide_name(L"gr\u00fc\u00df \U0001F600"))),
              "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80");
  const wchar_t broken[] = {static_cast<wchar_t>(0xD800), static_cast<wchar_t>(0x7FFFFFFF), 0};
  CHECK_EQUAL(std::string(sink().text(sink().wide_name(broken))), "\xEF\xBF\xBD\xEF\xBF\xBD");
  const std::wstring wide(5000, L'\U0001F600');
  CHECK_EQUAL(std::string(sink().text(sink().wide_name(wide.c_str()))).size(), size_t{1024});
}

// Ranges left open by a thread end with it. A free range may end on another thread, whichever of
// the two is processed first.
void threads_that_start_and_end() {
  constexpr int kThreads = 8;
  constexpr int kEach = 5000;
  std::atomic<int64_t> handed{0};
  const RangeFigures figures = record([&] {
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number) {
      threads.emplace_back([&] {
        const int32_t name = sink().name("threads");
        for (int i = 0; i < kEach; ++i) {
          sink().push(kNvtx, -1, name);
          const int64_t other = handed.exchange(sink().start(kNvtx, -1, name));
          if (other != 0)
            sink().end(kNvtx, other);
          sink().pop(kNvtx, -1);
        }
        sink().push(kNvtx, -1, name);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    sink().end(kNvtx, handed);
  });
  CHECK_EQUAL(rows(figures, kNvtx), kThreads * (2 * kEach + 1));
  CHECK_EQUAL(figures.open, kThreads);
  CHECK_EQUAL(figures.unmatched + figures.lost, 0);
}

void recordings_begin_and_end_while_threads_run() {
  std::atomic<bool> is_done{false};
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&] {
      const int32_t name = sink().name("running");
      while (!is_done) {
        sink().push(kNvtx, -1, name);
        sink().end(kNvtx, sink().start(kNvtx, -1, name));
        sink().pop(kNvtx, -1);
        RangeLog::instance().pop_own(RangeLog::instance().push_own("own"));
      }
    });
  }
  int64_t seen = 0;
  for (int i = 0; i < 20; ++i)
    seen += rows(record([] { ::usleep(2000); }), kNvtx);
  is_done = true;
  for (std::thread& thread : threads)
    thread.join();
  CHECK(seen > 0);
}

// perfprobe's own ranges have ids and may end in any order.
void own_ranges_end_in_any_order() {
  const RangeFigures figures = record([] {
    const int64_t first = RangeLog::instance().push_own("first");
    const int64_t second = RangeLog::instance().push_own("second");
    RangeLog::instance().pop_own(first);
    RangeLog::instance().pop_own(second);
    RangeLog::instance().pop_own(second);
  });
  CHECK_EQUAL(rows(figures, RangeSource::perfprobe), 2);
  CHECK_EQUAL(figures.unmatched, 1);
}

#ifndef __SANITIZE_THREAD__  // which does not allow threads in a forked child

// The child does not record but may start to. Another thread was using ranges during the fork.
void a_forked_child_can_record() {
  std::atomic<bool> is_done{false};
  std::thread busy([&] {
    while (!is_done) {
      sink().push(kNvtx, -1, sink().name(std::to_string(::rand() % 1000).c_str()));
      sink().pop(kNvtx, -1);
    }
  });
  int failures = 0;
  record([&] {
    for (int i = 0; i < 10; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        const int32_t name = sink().name("child");
        sink().push(kNvtx, -1, name);
        sink().pop(kNvtx, -1);
        const RangeFigures figures = record([&] {
          sink().push(kNvtx, -1, name);
          sink().pop(kNvtx, -1);
        });
        ::_exit(rows(figures, kNvtx) == 1 ? 0 : 1);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      failures += status != 0 ? 1 : 0;
    }
  });
  is_done = true;
  busy.join();
  CHECK_EQUAL(failures, 0);
}

#endif

void connect_injection() {
  void* library = ::dlopen(INJECTION, RTLD_NOW);
  CHECK(library != nullptr);
  reinterpret_cast<perfprobe::ConnectSink>(::dlsym(library, perfprobe::kConnect))(&sink());
  ::setenv("NVTX_INJECTION64_PATH", INJECTION, 1);
  ::setenv("INTEL_LIBITTNOTIFY64", INJECTION, 1);
}

// This client is the one by which perfprobe emits. Only in perfprobe's modules it is recognized as
// our own.
void ranges_of_an_itt_client_are_recorded() {
  const RangeFigures figures = record([] {
    const itt::Message name = itt::message("task");
    itt::push(name);
    itt::push(nullptr);
    itt::pop();
    itt::pop();
    itt::pop();
    itt::end(itt::start(name));
    itt::mark(name);
    itt::push(name);
  });
  CHECK_EQUAL(rows(figures, RangeSource::itt), 5);
  CHECK_EQUAL(figures.open, 1);
  CHECK_EQUAL(figures.unmatched, 1);
  itt::push(itt::message("after"));
  itt::pop();
}

#ifdef NVTX_LISTENER

void ranges_of_an_nvtx_client_are_recorded() {
  nvtxEventAttributes_t unnamed{};
  unnamed.version = NVTX_VERSION;
  unnamed.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  unnamed.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  nvtxEventAttributes_t cut = unnamed;
  cut.size = 8;
  const RangeFigures figures = record([&] {
    CHECK_EQUAL(nvtxRangePushA("ascii"), -2);  // as without any tool
    nvtxRangePushW(L"wide");
    nvtxRangePushA(nullptr);
    nvtxRangePushEx(&unnamed);
    nvtxRangePushEx(&cut);
    nvtxRangePushEx(nullptr);
    for (int i = 0; i < 6; ++i)
      CHECK_EQUAL(nvtxRangePop(), -2);
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("client");
    nvtxEventAttributes_t named = unnamed;
    named.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    named.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &named);
    nvtxDomainRangePop(domain);
    named.message.registered = nullptr;
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &named));
    nvtxDomainMarkEx(domain, &named);
    nvtxDomainDestroy(domain);
    nvtxRangeEnd(nvtxRangeStartW(L"free"));
    nvtxMarkA("mark");
    nvtxNameOsThreadA(static_cast<uint32_t>(::gettid()), "a name");
  });
  CHECK_EQUAL(rows(figures, kNvtx), 11);
  CHECK_EQUAL(figures.unmatched + figures.open + figures.lost, 0);
  CHECK_EQUAL(RangeLog::instance().clients().size(), size_t{2});
  nvtxRangePushA("after");
  nvtxRangePop();
  CHECK_EQUAL(nvtxRangeStartA("after"), nvtxRangeId_t{0});
}

#endif

void names_beyond_the_limit_are_one() {
  for (size_t i = 0; i < RangeNames::kMost; ++i)
    sink().name(("name " + std::to_string(i)).c_str());
  CHECK_EQUAL(std::string(sink().text(sink().name("one more"))), "(other)");
  CHECK_EQUAL(std::string(sink().text(sink().name("name 5"))), "name 5");
}

}  // namespace

int main() {
  ends_are_matched_with_their_begins();
  ranges_that_begin_outside_of_a_window_are_left_out();
  a_recording_has_no_ranges_of_the_one_before();
  more_ranges_than_a_ring_holds_are_recorded();
  ranges_nested_too_deep_are_counted();
  long_missing_and_invalid_names();
  threads_that_start_and_end();
  recordings_begin_and_end_while_threads_run();
  own_ranges_end_in_any_order();
  connect_injection();
  ranges_of_an_itt_client_are_recorded();
#ifdef NVTX_LISTENER
  ranges_of_an_nvtx_client_are_recorded();
#endif
  names_beyond_the_limit_are_one();
#ifndef __SANITIZE_THREAD__
  a_forked_child_can_record();
#endif
  std::filesystem::remove_all(folder());
  return perfprobe::test::report();
}
