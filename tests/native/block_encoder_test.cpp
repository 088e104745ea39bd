// The bytes of a block, compared with hand-made ones and a published check value.
#include "core/block_encoder.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "core/checksum.h"

using perfprobe::BlockEncoder;
using namespace std::string_literals;

namespace {

std::string bytes_of(const BlockEncoder& encoder) {
  return {encoder.payload().begin(), encoder.payload().end()};
}

// The check value of CRC-32/ISO-HDLC, which zlib uses, over the ASCII digits 1 to 9.
void checksum_equals_that_of_zlib() {
  const std::string digits = "123456789";
  CHECK_EQUAL(perfprobe::crc32(reinterpret_cast<const uint8_t*>(digits.data()), digits.size()),
              0xCBF43926U);
  CHECK_EQUAL(perfprobe::crc32(nullptr, 0), 0U);
}

void equal_values_are_encoded_as_one_constant() {
  BlockEncoder encoder;
  const std::vector<int64_t> values(1000, -1);
  encoder.begin("t", values.size(), 1);
  encoder.add_ids("c", values);
  // "t", 1000 rows = e8 07, 1 column; "c", coding 0, 1 byte: zigzag(-1) = 1
  CHECK_EQUAL(bytes_of(encoder),
              "\x01t\xe8\x07\x01\x01"
              "c\x00\x01\x01"s);
}

void runs_and_plain_values_are_decoded_again() {
  BlockEncoder encoder;
  encoder.begin("t", 8, 2);
  encoder.add_ids("r", std::vector<int64_t>{3, 3, 3, 3, 3, 3, 3, 4});
  encoder.add_ids("p", std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 300});
  CHECK_EQUAL(bytes_of(encoder),
              "\x01t\x08\x02"
              "\x01r\x03\x04\x06\x07\x08\x01"
              "\x01p\x01\x09\x02\x04\x06\x08\x0a\x0c\x0e\xd8\x04"s);
}

void differences_and_relative_values_are_decoded_again() {
  BlockEncoder encoder;
  const std::vector<int64_t> start{100, 90};
  const std::vector<int64_t> end{101, 95};
  encoder.begin("t", 2, 2);
  encoder.add_delta("s", start);
  encoder.add_relative("e", end, 0, start);
  CHECK_EQUAL(bytes_of(encoder),
              "\x01t\x02\x02"
              "\x01s\x02\x03\xc8\x01\x13"
              "\x01"
              "e\x05\x03\x00\x02\x0a"s);
}

void extreme_differences_wrap() {
  BlockEncoder encoder;
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  encoder.begin("t", 2, 1);
  encoder.add_delta("s", std::vector<int64_t>{kLow, kHigh});
  // max - min wraps to -1; min itself takes ten bytes
  CHECK_EQUAL(encoder.payload().back(), uint8_t{1});
  CHECK_EQUAL(encoder.payload().size(), size_t{4 + 2 + 2 + 10 + 1});
}

void text_is_encoded_as_lengths_then_bytes() {
  BlockEncoder encoder;
  encoder.begin("t", 2, 1);
  encoder.add_text("x", std::vector<std::string_view>{"ab", ""});
  CHECK_EQUAL(bytes_of(encoder),
              "\x01t\x02\x01\x01x\x04\x04\x02\x00"
              "ab"s);
}

}  // namespace

int main() {
  checksum_equals_that_of_zlib();
  equal_values_are_encoded_as_one_constant();
  runs_and_plain_values_are_decoded_again();
  differences_and_relative_values_are_decoded_again();
  extreme_differences_wrap();
  text_is_encoded_as_lengths_then_bytes();
  return perfprobe::test::report();
}
