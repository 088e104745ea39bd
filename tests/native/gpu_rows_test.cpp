// Buffers of records become rows: what is counted, what a damaged buffer loses, and what is
// limited. tests/collect/test_cupti_decoding.py checks the rows.
#include "gpu/gpu_rows.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "cupti_fixture_reader.h"
#include "fabricated_records.h"

namespace test = perfprobe::test;
using perfprobe::GpuRows;
using perfprobe::GpuTotals;
using perfprobe::Recorder;
using test::Layout;

namespace {

constexpr const char* kName = "_Z4scalPfi";

std::string temporary_path(const std::string& name) {
  static const std::string folder = [] {
    char pattern[] = "/tmp/perfprobe-test-XXXXXX";
    return std::string(mkdtemp(pattern));
  }();
  return folder + "/" + name;
}

// Recorders are never destroyed. Kept here, so that the leak checker accepts that.
Recorder& make_recorder() {
  static auto* const kept = new std::vector<Recorder*>();
  const std::string name = std::to_string(kept->size());
  return *kept->emplace_back(new Recorder(temporary_path(name), 1, 10'000'000));
}

uint32_t callback_name(uint32_t /*domain*/, uint32_t callback, const char** name) {
  *name = callback == 211 ? "cudaLaunchKernel_v7000" : nullptr;
  return callback == 211 ? 0 : 1;
}

struct Taken {
  Recorder& recorder = make_recorder();
  GpuTotals totals;
  GpuRows rows;

  explicit Taken(const Layout& layout, perfprobe::NextRecord next = test::next_by_strides)
      : rows(recorder, (test::current_strides() = layout.strides(), next), callback_name, totals) {}

  // In memory of exactly that size, so that the sanitizer notices reads beyond it.
  void take(const std::vector<uint8_t>& buffer) {
    std::vector<uint8_t> exact(buffer);
    exact.shrink_to_fit();
    rows.take(exact.data(), exact.size());
  }
};

std::vector<uint8_t> one_of_each(const Layout& layout) {
  return test::buffer_of({test::kernel(layout, kName, 5000, 5250), test::copy(layout, 1, 100, 400),
                          test::peer_copy(layout, 1, 7), test::fill(layout),
                          test::api_call(5, 211, 99), test::api_call(4, 307, 99),
                          test::wait(layout, 3, 21), test::overhead(layout), test::external_id(5),
                          test::external_id(3)});
}

void every_record_is_counted(const Layout& layout) {
  Taken taken(layout);
  taken.take(one_of_each(layout));
  taken.take(test::buffer_of({test::kernel(layout, kName, 0, 0), test::copy(layout, 1, 0, 0)}));
  taken.rows.write();
  taken.rows.write();  // nothing is pending, so no empty block is written
  const auto figures = taken.rows.figures();
  CHECK_EQUAL(figures.records, 12);
  CHECK_EQUAL(figures.untimed, 2);
  CHECK_EQUAL(figures.unknown_kinds + figures.malformed + figures.dropped + figures.unread_names,
              0);
  const auto totals = taken.totals.read();
  CHECK(totals.kernels == (perfprobe::GpuTotal{2, 0, 250}));
  CHECK(totals.copies[1] == (perfprobe::GpuTotal{2, 10'000'000'000, 300}));
  CHECK(totals.copies[10] == (perfprobe::GpuTotal{1, 640, 30}));
  CHECK(totals.fills == (perfprobe::GpuTotal{1, 4096, 7}));
  CHECK(totals.waits[3] == (perfprobe::GpuTotal{1, 0, 80}));
}

// A cut buffer loses only the record that was cut.
void a_buffer_may_end_at_any_byte() {
  const Layout& layout = test::kLayouts[3];
  const auto whole = one_of_each(layout);
  const size_t ends[] = {208, 296, 392, 480, 520, 560, 600, 640, 664, 688};
  Taken taken(layout);
  int64_t records = 0;
  int64_t malformed = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    taken.take({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    bool is_cut = size > 0;
    for (const size_t end : ends) {
      records += size >= end ? 1 : 0;
      is_cut = is_cut && size != end;
    }
    malformed += is_cut ? 1 : 0;
    CHECK_EQUAL(taken.rows.figures().records, records);
    CHECK_EQUAL(taken.rows.figures().malformed, malformed);
  }
  taken.rows.write();
}

void unknown_kinds_are_counted() {
  Layout layout = test::kLayouts[6];
  Taken taken(layout);
  // A record that the library steps over and we do not decode, then one that it does not know
  // either.
  test::current_strides().bytes[13] = 56;
  const test::Bytes clocks(13, 56);
  const test::Bytes unheard_of(500, 64);
  const auto kernel = test::kernel(layout, kName, 10, 20);
  taken.take(test::buffer_of({clocks, kernel, clocks}));
  CHECK_EQUAL(taken.rows.figures().unknown_kinds, 2);
  CHECK_EQUAL(taken.totals.read().kernels.calls, 1);
  taken.take(test::buffer_of({kernel, unheard_of, kernel}));
  CHECK_EQUAL(taken.rows.figures().unknown_kinds, 3);
  CHECK_EQUAL(taken.totals.read().kernels.calls, 2);
  CHECK_EQUAL(taken.rows.figures().malformed, 0);
}

// Arbitrary pointers, kinds, times and sizes: no invalid memory is read.
void any_byte_may_be_wrong() {
  const Layout& layout = test::kLayouts[6];
  const auto whole = one_of_each(layout);
  Taken taken(layout);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int wrong : {0x00, 0x01, 0x0a, 0x7f, 0x80, 0xff}) {
      auto buffer = whole;
      buffer[at] = static_cast<uint8_t>(wrong);
      taken.take(buffer);
    }
  }
  const auto figures = taken.rows.figures();
  CHECK(figures.untimed > 0 && figures.unknown_kinds > 0 && figures.malformed > 0);
  CHECK(figures.unread_names > 0);
  taken.rows.write();
}

// If the library's record lengths are unknown, nothing is read from its records.
void without_strides_nothing_is_decoded() {
  Layout layout = test::kLayouts[6];
  layout.kernel = 0;
  Taken taken(layout);
  test::current_strides().bytes[10] = 216;
  taken.take(one_of_each(test::kLayouts[6]));
  CHECK_EQUAL(taken.rows.figures().unknown_kinds, 1);
  CHECK_EQUAL(taken.rows.figures().records, 10);
  CHECK_EQUAL(taken.totals.read().kernels.calls, 0);
}

void invalid_sizes_from_the_library_are_refused() {
  static size_t step = 0;  // how far the library steps from the third record on
  const auto astray = [](uint8_t* buffer, size_t bytes, void** record) -> uint32_t {
    if (*record == nullptr || *record == buffer)
      return test::next_by_strides(buffer, bytes, record);
    *record = static_cast<uint8_t*>(*record) + step;
    return 0;
  };
  const Layout& layout = test::kLayouts[6];
  for (const size_t wrong : {size_t{0}, ~size_t{39}, size_t{1} << 40, size_t{79}, size_t{80}}) {
    step = wrong;
    Taken taken(layout, astray);
    taken.take(test::buffer_of(
        {test::api_call(5, 1, 1), test::api_call(5, 1, 1), test::api_call(5, 1, 1)}));
    CHECK_EQUAL(taken.rows.figures().malformed, 1);
    CHECK_EQUAL(taken.rows.figures().records, 2);
  }
}

void invalid_names_are_refused() {
  const Layout& layout = test::kLayouts[6];
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages + page, page, PROT_NONE);  // kept, so that no other mapping is placed there
  char* at_the_edge = pages + page - 4;
  std::memcpy(at_the_edge, "abc", 4);
  char* over_the_edge = pages + page / 2;
  std::memset(over_the_edge, 'x', page / 2 - 5);
  std::memset(at_the_edge - 1, 'y', 1);

  Taken taken(layout);
  const auto take = [&](const char* name) {
    taken.take(test::buffer_of({test::kernel(layout, name, 10, 20)}));
    return taken.rows.figures().unread_names;
  };
  CHECK_EQUAL(take(at_the_edge), 0);
  CHECK_EQUAL(take(over_the_edge), 0);
  std::memset(at_the_edge, 'z', 4);
  CHECK_EQUAL(take(at_the_edge), 1);
  CHECK_EQUAL(take(over_the_edge), 2);
  CHECK_EQUAL(take(nullptr), 3);
  CHECK_EQUAL(take(reinterpret_cast<const char*>(8)), 4);
  CHECK_EQUAL(take(reinterpret_cast<const char*>(~uintptr_t{0})), 5);
  CHECK_EQUAL(take(reinterpret_cast<const char*>(uintptr_t{1} << 63)), 6);
  mprotect(pages, page, PROT_NONE);
  CHECK_EQUAL(take(at_the_edge), 7);
  CHECK_EQUAL(take(kName), 7);
  CHECK_EQUAL(taken.totals.read().kernels.calls, 10);
  munmap(pages, 2 * page);
}

// More names, launches, functions and threads than are kept, and many blocks of rows.
void tables_have_a_limit() {
  constexpr size_t kRecords = 300'000;
  const Layout& layout = test::kLayouts[6];
  std::vector<uint8_t> buffer;
  std::vector<char> names(kRecords * 8);
  for (size_t i = 0; i < kRecords; ++i) {
    std::snprintf(&names[i * 8], 8, "k%zu", i % 70'000);
    auto kernel = test::kernel(layout, &names[i * 8], 10, 20);
    kernel.put(52, static_cast<int32_t>(i));
    // From 3 on, because 2 is a version query, which makes no row.
    const auto call =
        test::api_call(5, static_cast<uint32_t>(i + 3), static_cast<uint32_t>(i % 20'000));
    const auto both = test::buffer_of({kernel, call});
    buffer.insert(buffer.end(), both.begin(), both.end());
  }
  Taken taken(layout);
  taken.take(buffer);
  taken.rows.write();
  const auto figures = taken.rows.figures();
  CHECK_EQUAL(figures.records, 600'000);
  CHECK_EQUAL(figures.unread_names + figures.malformed + figures.unknown_kinds, 0);
  const int64_t names_beyond = 4 * (70'000 - 65'536);
  const int64_t launches_beyond = 300'000 - 262'144;
  const int64_t calls_beyond = 300'000 - 4096;
  const int64_t threads_beyond = 15 * (20'000 - 16'384);
  CHECK_EQUAL(figures.dropped, names_beyond + launches_beyond + calls_beyond + threads_beyond);
  CHECK_EQUAL(taken.totals.read().kernels.ns, 3'000'000);
  taken.recorder.close();
  CHECK_EQUAL(taken.recorder.dropped_rows(), 0);
}

void totals_can_be_read_while_rows_are_added() {
  const Layout& layout = test::kLayouts[6];
  Taken taken(layout);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    int64_t last = 0;
    while (!done) {
      const auto totals = taken.totals.read();
      CHECK(totals.kernels.calls >= last);
      last = totals.kernels.calls;
    }
  });
  const auto buffer = one_of_each(layout);
  for (int i = 0; i < 2000; ++i)
    taken.take(buffer);
  done = true;
  reader.join();
  CHECK_EQUAL(taken.totals.read().kernels.calls, 2000);
}

}  // namespace

int main() {
  for (const Layout& layout : test::kLayouts)
    every_record_is_counted(layout);
  a_buffer_may_end_at_any_byte();
  unknown_kinds_are_counted();
  any_byte_may_be_wrong();
  without_strides_nothing_is_decoded();
  invalid_sizes_from_the_library_are_refused();
  invalid_names_are_refused();
  tables_have_a_limit();
  totals_can_be_read_while_rows_are_added();
  return test::report();
}
