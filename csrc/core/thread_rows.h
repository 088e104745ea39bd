// Rows of the table `threads` for threads of which only the OS number is known.
#pragma once

#include <cstdint>

#include "core/recorder.h"

namespace perfprobe {

class ThreadRows {
 public:
  static constexpr int32_t kMost = 16'384;  // further ones share a row

  explicit ThreadRows(Recorder& recorder) : recorder_(recorder) {}

  // Returns a new row for a thread. `name()` returns the thread's name.
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
  // Returns the row that further threads share; kNone while there is none.
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
