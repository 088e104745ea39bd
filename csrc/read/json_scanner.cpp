#include "read/json_scanner.h"

#include <bit>

#include <emmintrin.h>

namespace perfprobe {
namespace {

constexpr int kDeepest = 200;  // deeper values are left to the caller's other decoder
constexpr size_t kInvalid = JsonScanner::kInvalid;
constexpr size_t kBlock = 16;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool is_hexadecimal(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

bool is_special(char letter) {
  return letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < ' ';
}

// Where the next quote, backslash or control character is, in 16 bytes: one bit for each.
unsigned specials(const char* block) {
  const __m128i letters = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
  const __m128i quotes = _mm_cmpeq_epi8(letters, _mm_set1_epi8('"'));
  const __m128i slashes = _mm_cmpeq_epi8(letters, _mm_set1_epi8('\\'));
  const __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(letters, _mm_set1_epi8(0x1f)), letters);
  const __m128i found = _mm_or_si128(_mm_or_si128(quotes, slashes), controls);
  return static_cast<unsigned>(_mm_movemask_epi8(found));
}

}  // namespace

size_t JsonScanner::behind_string(size_t at) const {
  if (!is(at, '"'))
    return kInvalid;
  ++at;
  while (true) {
    while (at + kBlock <= text_.size()) {
      const unsigned found = specials(text_.data() + at);
      if (found != 0) {
        at += static_cast<size_t>(std::countr_zero(found));
        break;
      }
      at += kBlock;
    }
    while (at < text_.size() && !is_special(text_[at]))
      ++at;
    if (is(at, '"'))
      return at + 1;
    if (!is(at, '\\'))
      return kInvalid;
    at = behind_escape(at + 1);
    if (at == kInvalid)
      return kInvalid;
  }
}

size_t JsonScanner::behind_escape(size_t at) const {
  if (at >= text_.size())
    return kInvalid;
  if (text_[at] != 'u')
    return std::string_view("\"\\/bfnrt").find(text_[at]) == std::string_view::npos ? kInvalid
                                                                                    : at + 1;
  for (size_t digit = 1; digit <= 4; ++digit) {
    if (at + digit >= text_.size() || !is_hexadecimal(text_[at + digit]))
      return kInvalid;
  }
  return at + 5;
}

size_t JsonScanner::behind_digits(size_t at) const {
  const size_t first = at;
  while (at < text_.size() && is_digit(text_[at]))
    ++at;
  return at == first ? kInvalid : at;
}

size_t JsonScanner::behind_number(size_t at, bool& is_integer) const {
  is_integer = true;
  if (is(at, '-'))
    ++at;
  at = is(at, '0') ? at + 1 : behind_digits(at);
  if (at != kInvalid && is(at, '.')) {
    is_integer = false;
    at = behind_digits(at + 1);
  }
  if (at != kInvalid && (is(at, 'e') || is(at, 'E'))) {
    is_integer = false;
    ++at;
    at = behind_digits(is(at, '+') || is(at, '-') ? at + 1 : at);
  }
  return at;
}

size_t JsonScanner::behind_word(size_t at, std::string_view word) const {
  return text_.compare(at, word.size(), word) == 0 ? at + word.size() : kInvalid;
}

size_t JsonScanner::behind_value(size_t at, int depth) const {
  if (at >= text_.size() || depth > kDeepest)
    return kInvalid;
  bool is_integer = false;
  switch (text_[at]) {
    case '"':
      return behind_string(at);
    case '{':
      return behind_object(at, depth + 1);
    case '[':
      return behind_array(at, depth + 1);
    case 't':
      return behind_word(at, "true");
    case 'f':
      return behind_word(at, "false");
    case 'n':
      return behind_word(at, "null");
    default:
      return behind_number(at, is_integer);
  }
}

size_t JsonScanner::behind_array(size_t at, int depth) const {
  at = behind_space(at + 1);
  if (is(at, ']'))
    return at + 1;
  while (true) {
    at = behind_value(at, depth);
    if (at == kInvalid)
      return kInvalid;
    at = behind_space(at);
    if (is(at, ']'))
      return at + 1;
    if (!is(at, ','))
      return kInvalid;
    at = behind_space(at + 1);
  }
}

size_t JsonScanner::behind_object(size_t at, int depth) const {
  at = behind_space(at + 1);
  if (is(at, '}'))
    return at + 1;
  while (true) {
    at = behind_string(at);
    if (at == kInvalid)
      return kInvalid;
    at = behind_space(at);
    if (!is(at, ':'))
      return kInvalid;
    at = behind_value(behind_space(at + 1), depth);
    if (at == kInvalid)
      return kInvalid;
    at = behind_space(at);
    if (is(at, '}'))
      return at + 1;
    if (!is(at, ','))
      return kInvalid;
    at = behind_space(at + 1);
  }
}

}  // namespace perfprobe
