#include "torch/range_messages.h"

namespace perfprobe {
namespace {

// Cuts at the start of a character, as messages are UTF-8.
std::string shortened(std::string_view text) {
  if (text.size() <= RangeMessages::kLongest)
    return std::string(text);
  size_t end = RangeMessages::kLongest - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace

int32_t RangeMessages::add(std::string_view text, int32_t line) {
  const std::lock_guard lock(mutex_);
  const auto known = ids_.find(text);
  if (known != ids_.end())
    return known->second;
  if (with_lines_ == kMost || bytes_ > kMostBytes) {
    full_ = true;
    return kNone;
  }
  ++with_lines_;
  bytes_ += text.size();
  return insert(text, line);
}

int32_t RangeMessages::add_name(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto known = ids_.find(text);
  if (known != ids_.end())
    return known->second;
  if (names_ < kMostNames) {
    ++names_;
    return insert(text, kNone);
  }
  const auto other = ids_.find("(other)");
  return other != ids_.end() ? other->second : insert("(other)", kNone);
}

int32_t RangeMessages::insert(std::string_view text, int32_t line) {
  const auto id = static_cast<int32_t>(ids_.size());
  messages_[id] = {port_.add_message(shortened(text).c_str()), line};
  ids_.emplace(keep(text), id);
  return id;
}

int32_t RangeMessages::add_line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto known = line_ids_.find(text);
  if (known != line_ids_.end())
    return known->second;
  const auto id = static_cast<int32_t>(lines_.size());
  lines_.push_back(keep(text));
  line_ids_.emplace(lines_.back(), id);
  return id;
}

std::string RangeMessages::line(int32_t id) {
  const std::lock_guard lock(mutex_);
  return std::string(lines_.at(static_cast<size_t>(id)));
}

}  // namespace perfprobe
