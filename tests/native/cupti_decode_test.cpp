// Every field of every record in every known layout, compared with numbers written by hand.
#include "gpu/cupti_decode.h"

#include <cstdint>
#include <vector>

#include "check.h"
#include "cupti_fixture_reader.h"
#include "fabricated_records.h"

namespace test = perfprobe::test;
using perfprobe::CuptiRecord;
using test::Bytes;
using test::Layout;

namespace {

CuptiRecord record_of(const Bytes& bytes) {
  return {bytes.bytes().data(), bytes.bytes().size()};
}

// The rows' fields in the order of their columns.
template <class Row>
void check_row(const Row& row, const std::vector<int64_t>& expected, const Layout& layout) {
  constexpr auto kColumns = Row::columns();
  CHECK_EQUAL(kColumns.size(), expected.size());
  const perfprobe::MappedVector<Row> rows{row};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    int64_t found = 0;
    kColumns[i].copy(rows, &found);
    if (found != expected[i])
      std::fprintf(stderr, "%s of %s\n", kColumns[i].name.data(), layout.version.data());
    CHECK_EQUAL(found, expected[i]);
  }
}

void kernels_are_decoded(const Layout& layout) {
  const Bytes bytes = test::kernel(layout, nullptr, 5000, 5250);
  check_row(perfprobe::decode_kernel(record_of(bytes), 31, 32),
            {5000, 5250, 2, 3, 17, 31, 32, 4'000'000'001, 9, 77'000'000'001}, layout);
  check_row(perfprobe::decode_launch(record_of(bytes)),
            {4096, 2, 3, 128, 4, 5, 96, 49'152, 16'384, 64}, layout);
}

void copies_are_decoded(const Layout& layout) {
  check_row(perfprobe::decode_copy(record_of(test::copy(layout, 1, 100, 400))),
            {100, 400, 1, 2, 21, 1, 2, 3, 1, 5'000'000'000, -1, 43, -1, -1}, layout);
  check_row(perfprobe::decode_copy(record_of(test::copy(layout, 200, 100, 400).put<uint8_t>(7, 0))),
            {100, 400, 1, 2, 21, 0, 2, 3, 0, 5'000'000'000, -1, 43, -1, -1}, layout);
  check_row(perfprobe::decode_peer_copy(record_of(test::peer_copy(layout, 1, 7))),
            {100, 130, 1, 2, 21, 10, 3, 3, 0, 640, 7, 44, 12, 88}, layout);
  check_row(perfprobe::decode_peer_copy(record_of(test::peer_copy(layout, 7, 1))),
            {100, 130, 1, 2, 21, 10, 3, 3, 0, 640, 7, 44, 12, 88}, layout);
  check_row(perfprobe::decode_fill(record_of(test::fill(layout))),
            {200, 207, 1, 2, 21, 100, 0, 3, 1, 4096, -1, 45, -1, -1}, layout);
}

void calls_and_waits_are_decoded(const Layout& layout) {
  check_row(perfprobe::decode_api_call(record_of(test::api_call(5, 211, 99)), 31, 32),
            {1000, 1050, 32, 31, 46, 700, -1}, layout);
  check_row(perfprobe::decode_wait(record_of(test::wait(layout, 3, 21))),
            {1100, 1180, 3, 2, 21, 47}, layout);
  check_row(perfprobe::decode_wait(record_of(test::wait(layout, 99, 0xffff'ffff))),
            {1100, 1180, 0, 2, -1, 47}, layout);
  check_row(perfprobe::decode_overhead(record_of(test::overhead(layout))), {1200, 1260, 6 << 16},
            layout);
}

// CUPTI writes 0 if it has no time, and an end of 0 for work that has not ended.
void records_without_times_have_no_duration(const Layout& layout) {
  const uint64_t never[][2] = {{0, 0}, {5000, 0}, {0, 5000}, {5001, 5000}, {~uint64_t{0}, 5000}};
  for (const auto& [start, end] : never) {
    const auto row =
        perfprobe::decode_kernel(record_of(test::kernel(layout, nullptr, start, end)), 0, 0);
    CHECK_EQUAL(row.start_ns, -1);
    CHECK_EQUAL(row.end_ns, -1);
  }
  const auto at_once =
      perfprobe::decode_kernel(record_of(test::kernel(layout, nullptr, 7, 7)), 0, 0);
  CHECK_EQUAL(at_once.end_ns, 7);
}

// Cut after each byte, in memory of exactly that size, so that the sanitizer notices reads beyond
// it.
void fields_beyond_a_short_record_are_unknown() {
  const Layout& layout = test::kLayouts[0];
  const Bytes whole = test::kernel(layout, nullptr, 5000, 5250);
  for (size_t size = 0; size <= whole.bytes().size(); ++size) {
    const std::vector<uint8_t> cut(whole.bytes().begin(),
                                   whole.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    const CuptiRecord record(cut.data(), cut.size());
    const auto row = perfprobe::decode_kernel(record, 1, 2);
    CHECK_EQUAL(row.start_ns, size >= 32 ? 5000 : -1);
    CHECK_EQUAL(row.stream, size >= 52 ? 17 : -1);
    CHECK_EQUAL(row.graph, size >= 160 ? 9 : -1);
    CHECK_EQUAL(perfprobe::decode_launch(record).block_z, size >= 76 ? 5 : -1);
    CHECK_EQUAL(perfprobe::decode_copy(record).graph, size >= 76 ? 5 : -1);
    CHECK_EQUAL(perfprobe::decode_wait(record).kind, 0);
  }
}

void strides_are_read_from_the_library() {
  for (const Layout& layout : test::kLayouts) {
    test::current_strides() = layout.strides();
    CHECK(perfprobe::probe_strides(test::next_by_strides).bytes == layout.strides().bytes);
  }
  const auto refuse = [](uint8_t*, size_t, void**) -> uint32_t { return 999; };
  const auto stay = [](uint8_t* buffer, size_t, void** record) -> uint32_t {
    *record = buffer;
    return 0;
  };
  const auto run_away = [](uint8_t* buffer, size_t, void** record) -> uint32_t {
    *record = *record == nullptr ? buffer : buffer + 100'000'000;
    return 0;
  };
  for (const perfprobe::NextRecord next : {+refuse, +stay, +run_away})
    CHECK(perfprobe::probe_strides(next).bytes == perfprobe::Strides{}.bytes);
}

}  // namespace

int main() {
  for (const Layout& layout : test::kLayouts) {
    kernels_are_decoded(layout);
    copies_are_decoded(layout);
    calls_and_waits_are_decoded(layout);
    records_without_times_have_no_duration(layout);
  }
  fields_beyond_a_short_record_are_unknown();
  strides_are_read_from_the_library();
  return perfprobe::test::report();
}
