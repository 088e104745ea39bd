// Decodes the events of a Chrome trace into columns of numbers: a million events in about a second.
//
// Each entry of an event becomes one number. A whole number is itself. Any other value becomes the
// number of its JSON text in a list of different texts. The caller knows what the values mean.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "read/json_scanner.h"

namespace perfprobe {

// The entries that are decoded. times: of an event, in microseconds; they become nanoseconds.
struct EventKeys {
  std::vector<std::string> times;
  std::vector<std::string> event;
  std::vector<std::string> args;  // entries of its "args"
};

// Finds a column by its key.
class KeyTable {
 public:
  static constexpr size_t kLongest = 63;
  static constexpr size_t kUnknown = static_cast<size_t>(-1);

  void add(std::string key, size_t column);
  [[nodiscard]] size_t find(std::string_view key) const;

 private:
  struct Entry {
    std::string key;
    size_t column;
  };
  std::array<std::vector<Entry>, kLongest + 1> by_length_;
};

// Different texts, numbered in the order in which they are first seen.
class TextList {
 public:
  int64_t number(std::string_view text);
  [[nodiscard]] const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  void grow();

  std::vector<std::string_view> texts_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> slots_;  // numbers of texts by hash, -1 free
};

class EventColumns {
 public:
  static constexpr int64_t kNone = INT64_MIN;          // no such entry, or null
  static constexpr int64_t kLimit = int64_t{1} << 62;  // whole numbers from here on are texts
  static constexpr int64_t kFirstText = -kLimit - 1;   // text n is kFirstText - n

  explicit EventColumns(const EventKeys& keys);

  // Takes in a JSON list of events. False if it is not one, or unusual (an escaped key): the
  // columns are then not to be used. The texts are parts of `list`.
  bool decode(std::string_view list);

  [[nodiscard]] const std::vector<std::vector<int64_t>>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::string_view>& texts() const { return texts_.texts(); }

 private:
  size_t object(size_t at, const KeyTable& keys, bool is_event);
  size_t member(size_t at, size_t column);
  size_t number(size_t at, size_t column);
  [[nodiscard]] int64_t time(std::string_view digits, bool is_integer, int64_t integer);

  KeyTable event_keys_, args_keys_;
  size_t times_;
  std::vector<std::vector<int64_t>> columns_;
  std::vector<int64_t> row_;  // of the event that is being decoded
  JsonScanner scanner_{{}};
  TextList texts_;
};

}  // namespace perfprobe
