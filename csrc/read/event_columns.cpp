#include "read/event_columns.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

namespace perfprobe {
namespace {

constexpr size_t kInvalid = JsonScanner::kInvalid;
constexpr double kLongestUs = 4611686018427387904.0 / 1000;  // 2^62 ns
constexpr int64_t kNsOfUs = 1000;
constexpr size_t kMostDigits = 19;
constexpr size_t kUsualBytes = 256;  // of an event; most have more
constexpr std::string_view kArgs = "args";

uint64_t fold(uint64_t left, uint64_t right) {
  const auto product = static_cast<unsigned __int128>(left) * right;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t word(const char* at, size_t bytes) {
  uint64_t found = 0;
  std::memcpy(&found, at, bytes);
  return found;
}

// One lane of wyhash. A hit compares the texts.
uint64_t hash_of(std::string_view text) {
  uint64_t found = 0xa0761d6478bd642fULL ^ text.size();
  const char* at = text.data();
  size_t left = text.size();
  for (; left > 16; left -= 16, at += 16)
    found = fold(found ^ word(at, 8), word(at + 8, 8) ^ 0xe7037ed1a0b428dbULL);
  const size_t first = left < 8 ? left : 8;
  return fold(found ^ word(at, first), word(at + first, left - first) ^ 0x8ebc6af09c88c6e3ULL);
}

// False if it does not fit into an int64.
bool integer_of(std::string_view digits, int64_t& found) {
  const auto [behind, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found);
  return error == std::errc() && behind == digits.data() + digits.size();
}

}  // namespace

void KeyTable::add(std::string key, size_t column) {
  auto& entries = by_length_.at(key.size());
  entries.push_back({std::move(key), column});
}

size_t KeyTable::find(std::string_view key) const {
  if (key.size() > kLongest)
    return kUnknown;
  for (const Entry& entry : by_length_[key.size()]) {
    if (key == entry.key)
      return entry.column;
  }
  return kUnknown;
}

int64_t TextList::number(std::string_view text) {
  if (2 * (texts_.size() + 1) > slots_.size())
    grow();
  const uint64_t hash = hash_of(text);
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    if (slots_[i] < 0) {
      slots_[i] = static_cast<int32_t>(texts_.size());
      texts_.push_back(text);
      hashes_.push_back(hash);
      return slots_[i];
    }
    const auto known = static_cast<size_t>(slots_[i]);
    if (hashes_[known] == hash && texts_[known] == text)
      return slots_[i];
  }
}

void TextList::grow() {
  slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, -1);
  const size_t mask = slots_.size() - 1;
  for (size_t text = 0; text < texts_.size(); ++text) {
    size_t i = hashes_[text] & mask;
    while (slots_[i] >= 0)
      i = (i + 1) & mask;
    slots_[i] = static_cast<int32_t>(text);
  }
}

EventColumns::EventColumns(const EventKeys& keys) : times_(keys.times.size()) {
  size_t column = 0;
  for (const auto* names : {&keys.times, &keys.event}) {
    for (const std::string& name : *names)
      event_keys_.add(name, column++);
  }
  for (const std::string& name : keys.args)
    args_keys_.add(name, column++);
  columns_.resize(column);
  row_.resize(column);
}

bool EventColumns::decode(std::string_view list) {
  scanner_ = JsonScanner(list);
  for (auto& column : columns_)
    column.reserve(list.size() / kUsualBytes);
  size_t at = scanner_.behind_space(0);
  if (!scanner_.is(at, '['))
    return false;
  at = scanner_.behind_space(at + 1);
  bool has_more = !scanner_.is(at, ']');
  while (has_more) {
    row_.assign(row_.size(), kNone);
    at = object(at, event_keys_, true);
    if (at == kInvalid)
      return false;
    for (size_t column = 0; column < row_.size(); ++column)
      columns_[column].push_back(row_[column]);
    at = scanner_.behind_space(at);
    has_more = scanner_.is(at, ',');
    if (has_more)
      at = scanner_.behind_space(at + 1);
  }
  return scanner_.is(at, ']') && scanner_.behind_space(at + 1) == scanner_.end();
}

size_t EventColumns::object(size_t at, const KeyTable& keys, bool is_event) {
  if (!scanner_.is(at, '{'))
    return kInvalid;
  at = scanner_.behind_space(at + 1);
  bool has_more = !scanner_.is(at, '}');
  while (has_more) {
    const size_t behind = scanner_.behind_string(at);
    if (behind == kInvalid)
      return kInvalid;
    const std::string_view key = scanner_.part(at + 1, behind - 1);
    at = scanner_.behind_space(behind);
    if (key.find('\\') != std::string_view::npos || !scanner_.is(at, ':'))
      return kInvalid;
    at = scanner_.behind_space(at + 1);
    if (is_event && key == kArgs && !scanner_.is(at, 'n'))
      at = object(at, args_keys_, false);
    else
      at = member(at, keys.find(key));
    if (at == kInvalid)
      return kInvalid;
    at = scanner_.behind_space(at);
    has_more = scanner_.is(at, ',');
    if (has_more)
      at = scanner_.behind_space(at + 1);
  }
  return scanner_.is(at, '}') ? at + 1 : kInvalid;
}

size_t EventColumns::member(size_t at, size_t column) {
  if (column == KeyTable::kUnknown)
    return scanner_.behind_value(at);
  if (scanner_.is(at, '-') || (at < scanner_.end() && scanner_.part(at, at + 1)[0] <= '9' &&
                               scanner_.part(at, at + 1)[0] >= '0'))
    return number(at, column);
  const size_t behind = scanner_.behind_value(at);
  if (behind != kInvalid)
    row_[column] =
        scanner_.is(at, 'n') ? kNone : kFirstText - texts_.number(scanner_.part(at, behind));
  return behind;
}

size_t EventColumns::number(size_t at, size_t column) {
  bool is_integer = false;
  const size_t behind = scanner_.behind_number(at, is_integer);
  if (behind == kInvalid)
    return kInvalid;
  const std::string_view digits = scanner_.part(at, behind);
  int64_t integer = 0;
  is_integer = is_integer && digits.size() <= kMostDigits && integer_of(digits, integer);
  if (column < times_)
    row_[column] = time(digits, is_integer, integer);
  else if (is_integer && integer < kLimit && integer > -kLimit)
    row_[column] = integer;
  else
    row_[column] = kFirstText - texts_.number(digits);
  return behind;
}

// Nanoseconds, to the nearest even one, as Python's round does.
int64_t EventColumns::time(std::string_view digits, bool is_integer, int64_t integer) {
  if (is_integer && integer <= kLimit / kNsOfUs && integer >= -kLimit / kNsOfUs)
    return integer * kNsOfUs;
  double us = 0;
  const auto [behind, error] = std::from_chars(digits.data(), digits.data() + digits.size(), us);
  if (is_integer || error != std::errc() || !(us < kLongestUs) || !(us > -kLongestUs))
    return kFirstText - texts_.number(digits);
  return std::llrint(us * static_cast<double>(kNsOfUs));
}

}  // namespace perfprobe
