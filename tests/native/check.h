// The whole test framework: a failed check prints its place and values, and the program's exit
// status is the number of failures.
#pragma once

#include <cstdio>
#include <sstream>

namespace perfprobe::test {

inline int failures = 0;

template <class Left, class Right>
void check_equal(const Left& left, const Right& right, const char* text, const char* file,
                 int line) {
  if (left == right)
    return;
  std::ostringstream values;
  values << left << " != " << right;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, text, values.str().c_str());
  ++failures;
}

inline int report() {
  std::fprintf(stderr, failures == 0 ? "ok\n" : "%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace perfprobe::test

#define CHECK_EQUAL(left, right) \
  perfprobe::test::check_equal((left), (right), #left " == " #right, __FILE__, __LINE__)
#define CHECK(condition) CHECK_EQUAL(static_cast<bool>(condition), true)
