#include "gpu/range_names.h"

#include <array>
#include <cstring>

#include "core/hash.h"

namespace perfprobe {
namespace {

Hash128 hash_of_name(std::string_view text) {
  Hasher hasher;
  uint64_t words[2] = {text.size(), 0};
  hasher.add(words[0], words[1]);
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), sizeof(words)))) {
    words[0] = words[1] = 0;
    std::memcpy(words, text.data(), std::min(text.size(), sizeof(words)));
    hasher.add(words[0], words[1]);
  }
  return hasher.result();
}

// Cuts to at most `kMostBytes`, at a character of UTF-8.
std::string_view cut(std::string_view text) {
  constexpr auto is_continued = [](char byte) { return (byte & 0xC0) == 0x80; };
  if (text.size() <= RangeNames::kMostBytes)
    return text;
  size_t end = RangeNames::kMostBytes;
  while (end > RangeNames::kMostBytes - 4 && is_continued(text[end]))
    --end;
  return text.substr(0, end);
}

// Writes one character of a wide string as UTF-8 and returns the new end.
char* add_character(char* end, wchar_t wide) {
  auto code = static_cast<uint32_t>(wide);
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    code = 0xFFFD;
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::array<uint32_t, 4> kFirst{0, 0xC0, 0xE0, 0xF0};
  *end++ = static_cast<char>(kFirst[static_cast<size_t>(more)] | code >> (6 * more));
  for (int rest = more - 1; rest >= 0; --rest)
    *end++ = static_cast<char>(0x80 | (code >> (6 * rest) & 0x3F));
  return end;
}

}  // namespace

RangeNames::RangeNames() {
  texts_.reserve(kMost);  // only used pages take memory
  add("(other)");
  add("(unnamed)");
}

int32_t RangeNames::find(std::string_view text, InternTable& cache) {
  text = cut(text);
  const Hash128 hash = hash_of_name(text);
  const int32_t cached = cache.find(hash);
  if (cached != InternTable::kAbsent)
    return cached;
  int32_t number = kOther;
  {
    const std::lock_guard lock(mutex_);
    number = add(text);
  }
  if (cache.size() < kMost)
    cache.insert(hash, number);
  return number;
}

int32_t RangeNames::find(const char* text, InternTable& cache) {
  if (text == nullptr)
    return kUnnamed;
  return find(std::string_view(text, ::strnlen(text, kMostBytes + 1)), cache);
}

int32_t RangeNames::find(const wchar_t* text, InternTable& cache) {
  if (text == nullptr)
    return kUnnamed;
  std::array<char, kMostBytes + 4> bytes;
  char* end = bytes.data();
  for (; *text != L'\0' && end <= bytes.data() + kMostBytes; ++text)
    end = add_character(end, *text);
  return find(std::string_view(bytes.data(), static_cast<size_t>(end - bytes.data())), cache);
}

const char* RangeNames::text(int32_t name) {
  const std::lock_guard lock(mutex_);
  return texts_.at(static_cast<size_t>(name));
}

int32_t RangeNames::add(std::string_view text) {
  const std::pmr::string wanted(text, pool_.resource());
  const auto known = numbers_.find(wanted);
  if (known != numbers_.end())
    return known->second;
  if (texts_.size() >= kMost)
    return kOther;
  const auto number = static_cast<int32_t>(texts_.size());
  const auto place = numbers_.emplace(wanted, number).first;
  texts_.push_back(place->first.c_str());
  return number;
}

}  // namespace perfprobe
