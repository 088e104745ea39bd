// A `.cupti` file has the original data, even if buffers and names changed later.
#include "gpu/cupti_fixture.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "check.h"
#include "cupti_fixture_reader.h"
#include "fabricated_records.h"

namespace test = perfprobe::test;
using perfprobe::CuptiFixtureWriter;

namespace {

const test::Layout& kLayout = test::kLayouts[6];

std::string temporary_path(const std::string& name) {
  static const std::string folder = [] {
    char pattern[] = "/tmp/perfprobe-test-XXXXXX";
    return std::string(mkdtemp(pattern));
  }();
  return folder + "/" + name;
}

uint32_t callback_name(uint32_t domain, uint32_t callback, const char** name) {
  *name = domain == 1 && callback == 307 ? "cuLaunchKernel" : nullptr;
  return *name == nullptr ? 1 : 0;
}

std::string write_fixture() {
  const std::string path = temporary_path("synthetic.cupti");
  test::current_strides() = kLayout.strides();
  CuptiFixtureWriter writer(path, "synthetic, by cupti_fixture_test", 130'001,
                            test::next_by_strides, callback_name);
  writer.add_clocks({1, 2, 3});
  char name[] = "first";
  auto buffer = test::buffer_of({test::kernel(kLayout, name, 10, 20), test::fill(kLayout)});
  writer.take(buffer.data(), buffer.size());
  std::memcpy(name, "other", 5);
  buffer = test::buffer_of({test::kernel(kLayout, name, 30, 40),
                            test::kernel(kLayout, reinterpret_cast<const char*>(8), 50, 60),
                            test::api_call(4, 307, 99), test::api_call(5, 307, 99)});
  writer.take(buffer.data(), buffer.size());
  writer.add_clocks({4, 5, 6});
  writer.close(7);
  return path;
}

const char* name_at(const std::vector<uint8_t>& buffer, size_t record) {
  const char* name = nullptr;
  std::memcpy(&name, buffer.data() + record + 104, sizeof(name));
  return name;
}

void a_fixture_is_read_as_it_was_written() {
  const auto fixture = test::CuptiFixtureReader(write_fixture()).fixture;
  CHECK_EQUAL(fixture.origin, "synthetic, by cupti_fixture_test");
  CHECK_EQUAL(fixture.cupti_version, 130'001U);
  CHECK(fixture.strides.bytes == kLayout.strides().bytes);
  CHECK_EQUAL(fixture.clocks.size(), 2U);
  CHECK_EQUAL(fixture.clocks.back().monotonic_ns, 6U);
  CHECK_EQUAL(fixture.dropped_records, 7U);
  CHECK_EQUAL(fixture.left_out, 0U);
  CHECK(fixture.complete);
  CHECK_EQUAL(fixture.buffers.size(), 2U);
  CHECK_EQUAL(fixture.buffers[0].size(), 216U + 88U);
  CHECK_EQUAL(std::string(name_at(fixture.buffers[0], 0)), "first");
  CHECK_EQUAL(std::string(name_at(fixture.buffers[1], 0)), "other");
  CHECK(name_at(fixture.buffers[1], 216) == nullptr);
  CHECK_EQUAL(fixture.calls.size(), 1U);
  CHECK_EQUAL(fixture.calls.at({1, 307}), "cuLaunchKernel");
}

void a_truncated_fixture_has_everything_before_the_cut() {
  const std::string path = write_fixture();
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const std::string cut = temporary_path("synthetic-cut.cupti");
  size_t buffers = 0;
  for (size_t size = 8; size < whole.size(); ++size) {
    std::ofstream(cut, std::ios::binary).write(whole.data(), static_cast<std::streamsize>(size));
    const auto fixture = test::CuptiFixtureReader(cut).fixture;
    CHECK(!fixture.complete);
    CHECK(fixture.buffers.size() >= buffers);
    buffers = fixture.buffers.size();
  }
  CHECK_EQUAL(buffers, 2U);
}

void a_fixture_stays_small() {
  const std::string path = temporary_path("synthetic-large.cupti");
  CuptiFixtureWriter writer(path, "synthetic", 1, test::next_by_strides, callback_name);
  std::vector<uint8_t> buffer(size_t{4} << 20);
  for (int i = 0; i < 5; ++i)
    writer.take(buffer.data(), buffer.size());
  writer.close(0);
  CHECK_EQUAL(writer.left_out(), 2U);
  CHECK(std::filesystem::file_size(path) < (size_t{16} << 20));
  CHECK_EQUAL(test::CuptiFixtureReader(path).fixture.left_out, 2U);
}

void a_missing_folder_is_an_error() {
  bool refused = false;
  try {
    CuptiFixtureWriter("/nowhere/a.cupti", "synthetic", 1, test::next_by_strides, callback_name);
  } catch (const std::system_error&) {
    refused = true;
  }
  CHECK(refused);
}

}  // namespace

int main() {
  a_fixture_is_read_as_it_was_written();
  a_truncated_fixture_has_everything_before_the_cut();
  a_fixture_stays_small();
  a_missing_folder_is_an_error();
  return test::report();
}
