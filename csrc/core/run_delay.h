// How long a thread of this process has waited for a processor, by the scheduler.
#pragma once

#include <cstdint>

#include "core/kept_file.h"

namespace perfprobe {

// Keeps the thread's schedstat open. Not thread-safe.
class RunDelay {
 public:
  // Returns the waiting since the thread began, in ns; -1 if not known. The kernel adds a wait when
  // it ends: when the thread gets its processor.
  int64_t read_ns(int64_t os_thread);
  [[nodiscard]] bool is_open() const { return schedstat_.is_open(); }
  // The next reading opens it again.
  void close() {
    schedstat_.close();
    os_thread_ = 0;
  }

 private:
  int64_t os_thread_ = 0;
  KeptFile schedstat_;  // holds a sum, so nothing is lost if it is opened again
};

}  // namespace perfprobe
