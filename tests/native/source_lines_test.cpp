// Hashes of source lines: which files are read, once, and how lines are counted.
#include "core/source_lines.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>

#include "check.h"
#include "core/clock.h"

using perfprobe::hash_line;
using perfprobe::process_began_ns;
using perfprobe::SourceLines;

namespace {

constexpr int64_t kEver = std::numeric_limits<int64_t>::max();

std::string file_with(const std::string& name, const std::string& text) {
  static const std::string folder = [] {
    char pattern[] = "/tmp/perfprobe-test-XXXXXX";
    return std::string(mkdtemp(pattern));
  }();
  const std::string path = folder + "/" + name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

SourceLines lines_until(int64_t began_ns) {
  SourceLines lines;
  lines.set_folders({}, began_ns);
  return lines;
}

int64_t hash(SourceLines& lines, int32_t file, int32_t line, const std::string& path) {
  return lines.hash(file, line, [&] { return std::string_view(path); });
}

void a_hash_is_of_the_text_without_blanks_around_it() {
  CHECK_EQUAL(hash_line("  x = f(y)\t\r"), hash_line("x = f(y)"));
  CHECK(hash_line("x = f(y)") != hash_line("x = f( y)"));
  CHECK_EQUAL(hash_line(""), static_cast<int64_t>(0xcbf29ce484222325ULL >> 1));
  CHECK_EQUAL(hash_line("   "), hash_line(""));
  CHECK(hash_line("\xff\xfe") >= 0);
}

void lines_are_counted_as_python_counts_them() {
  SourceLines lines = lines_until(kEver);
  const std::string path = file_with("ends.py", "one\ntwo\r\nthree\rfour\n\nlast");
  const char* const expected[] = {"one", "two", "three", "four", "", "last"};
  for (int32_t line = 1; line <= 6; ++line)
    CHECK_EQUAL(hash(lines, 0, line, path), hash_line(expected[line - 1]));
  CHECK_EQUAL(hash(lines, 0, 0, path), SourceLines::kUnknown);
  CHECK_EQUAL(hash(lines, 0, 7, path), SourceLines::kUnknown);
}

void a_file_is_read_once() {
  SourceLines lines = lines_until(kEver);
  const std::string path = file_with("once.py", "a\n");
  CHECK_EQUAL(hash(lines, 3, 1, path), hash_line("a"));
  file_with("once.py", "b\n");
  CHECK_EQUAL(hash(lines, 3, 1, path), hash_line("a"));
}

void newer_absent_and_other_files_have_none() {
  const std::string path = file_with("new.py", "a\n");
  SourceLines lines = lines_until(1);
  CHECK_EQUAL(hash(lines, 0, 1, path), SourceLines::kUnknown);
  SourceLines any = lines_until(kEver);
  CHECK_EQUAL(hash(any, 0, 1, path + ".absent"), SourceLines::kUnknown);
  CHECK_EQUAL(hash(any, 1, 1, file_with("site-packages/lib.py", "a\n")), SourceLines::kUnknown);
  CHECK_EQUAL(hash(any, 2, 1, "<string>"), SourceLines::kUnknown);
  CHECK_EQUAL(hash(any, 3, 1, "/dev/zero"), SourceLines::kUnknown);
  CHECK_EQUAL(hash(any, 4, 1, std::filesystem::path(path).parent_path().string()),
              SourceLines::kUnknown);
  CHECK_EQUAL(hash(any, 5, 1, path), hash_line("a"));
  SourceLines before;
  CHECK_EQUAL(hash(before, 0, 1, path), SourceLines::kUnknown);
}

void a_relative_path_is_below_the_folder_in_which_the_recording_began() {
  const std::string path = file_with("relative.py", "a\n");
  std::filesystem::current_path(std::filesystem::path(path).parent_path());
  SourceLines lines = lines_until(kEver);
  std::filesystem::current_path("/");
  CHECK_EQUAL(hash(lines, 0, 1, "relative.py"), hash_line("a"));
}

void this_process_began_a_moment_ago() {
  const int64_t ago_ns = perfprobe::read_clock_ns(CLOCK_REALTIME) - process_began_ns();
  CHECK(ago_ns > -perfprobe::kSecondNs);
  CHECK(ago_ns < 120 * perfprobe::kSecondNs);
}

}  // namespace

int main() {
  a_hash_is_of_the_text_without_blanks_around_it();
  lines_are_counted_as_python_counts_them();
  a_file_is_read_once();
  newer_absent_and_other_files_have_none();
  a_relative_path_is_below_the_folder_in_which_the_recording_began();
  this_process_began_a_moment_ago();
  return perfprobe::test::report();
}
