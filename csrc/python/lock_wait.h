// Tells from outside what a thread waits for: Python's global lock, another thread, a message.
//
// The kernel names the system call. A thread that waits for the lock sleeps on a futex of its
// condition variable, and in all versions of Python the lock lies in the object _PyRuntime, which
// has no other.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/address_range.h"
#include "core/kept_file.h"

namespace perfprobe {

enum class WaitsFor : int8_t {
  unknown = -1,
  other = 0,    // or it runs
  message = 1,  // on a socket, a pipe or a terminal
  thread = 2,   // a futex, such as that of a queue
  lock = 3      // Python's
};

// Whether this text of /proc/PID/task/TID/syscall is a wait for a futex in the range.
bool is_futex_in(std::string_view text, const AddressRange& range);

// Not thread-safe.
class LockWait {
 public:
  LockWait();

  // Whether the kernel names the system calls of this process's threads.
  [[nodiscard]] bool is_known() const { return is_known_; }
  // What a thread waits for that ran so much of this time. Takes a system call or two.
  WaitsFor of(int64_t os_thread, int64_t ran_ns, int64_t time_ns);

 private:
  std::string_view text_of(int64_t os_thread);

  int64_t os_thread_ = 0;  // whose file is open: opening it takes, for a moment, a low number
  KeptFile file_;
  AddressRange runtime_;
  bool is_known_ = false;
};

}  // namespace perfprobe
