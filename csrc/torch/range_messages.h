// The messages of operators' ranges. Each is made once and kept for ever, so their number is
// limited.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/emission_port.h"
#include "core/mapped_memory.h"
#include "core/records.h"

namespace perfprobe {

struct RangeMessage {
  const void* handle;  // returned by the port
  int32_t line;        // user line, as a row of RangeMessages; kNone for none
};

// The messages of one port until the process ends, because tools keep every message. Any thread may
// use it.
class RangeMessages {
 public:
  // Limit on messages with signature and line, and on messages of names only.
  static constexpr size_t kMost = 16'384;
  static constexpr size_t kMostNames = 16'384;
  static constexpr size_t kMostBytes = size_t{4} << 20;
  static constexpr size_t kLongest = 500;  // bytes; the rest of a message is cut

  explicit RangeMessages(const EmissionPort& port) : port_(port) {}
  RangeMessages(const RangeMessages&) = delete;
  RangeMessages& operator=(const RangeMessages&) = delete;

  // `id` must have been given to this thread.
  const RangeMessage& operator[](int32_t id) const { return messages_[id]; }
  // Whether operators are now distinguished by name only.
  [[nodiscard]] bool full() const { return full_.load(std::memory_order_relaxed); }

  // Returns the id of a message; kNone if there are too many.
  int32_t add(std::string_view text, int32_t line);
  // The same for names, which have a separate limit; "(other)" beyond it.
  int32_t add_name(std::string_view text);

  int32_t add_line(std::string_view text);
  [[nodiscard]] std::string line(int32_t id);

 private:
  using Ids = std::pmr::unordered_map<std::string_view, int32_t>;

  int32_t insert(std::string_view text, int32_t line);
  std::string_view keep(std::string_view text) { return texts_.emplace_back(text); }

  const EmissionPort& port_;
  std::mutex mutex_;
  std::atomic<bool> full_{false};
  MappedPool pool_;
  std::pmr::deque<std::pmr::string> texts_{pool_.resource()};  // never moves its strings
  Ids ids_{pool_.resource()};
  Ids line_ids_{pool_.resource()};
  std::pmr::deque<std::string_view> lines_{pool_.resource()};
  size_t with_lines_ = 0;
  size_t names_ = 0;
  size_t bytes_ = 0;
  // Never moves: other threads read messages by the ids they were given.
  RangeMessage* const messages_ =
      static_cast<RangeMessage*>(map_bytes((kMost + kMostNames + 1) * sizeof(RangeMessage)));
};

}  // namespace perfprobe
