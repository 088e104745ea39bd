// Rows of the table `threads` for threads that are known by the system's number alone.
#pragma once

#include <cstdint>

#include "core/recorder.h"

namespace perfprobe {

class ThreadRows {
 public:
  static constexpr int32_t kMost = 16'384;  // further ones share a row

  explicit ThreadRows(Recorder& recorder) : recorder_(recorder) {}

  // The row of a thread that has none yet; `name()`: what it is called.
  template <class Name>
  int32_t add(int64_t os_thread, Name name) {
    if (made_ < kMost) {
      const int32_t row = make(os_thread, name());
      ++made_;
      return row;
    }
    if (other_ == kNone)
      other_ = make(kNone, "(other threads)");
    return other_;
  }
  // The one that further threads share, kNone while there is none.
  [[nodiscard]] int32_t other() const { return other_; }

 private:
  int32_t make(int64_t os_thread, std::string_view name) {
    return recorder_.define([&](Definitions& definitions) {
      return definitions.add_thread({os_thread, kNone, definitions.intern(name).id});
    });
  }

  Recorder& recorder_;
  int32_t made_ = 0;
  int32_t other_ = kNone;
};

}  // namespace perfprobe
