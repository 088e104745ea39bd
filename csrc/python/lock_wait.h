// Tells from outside whether a thread waits for Python's global lock.
//
// A thread that waits sleeps on a futex of the lock's condition variable. The kernel names the
// futex, and in all versions of Python the lock lies in the object _PyRuntime, which has no other.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/address_range.h"
#include "core/kernel_files.h"

namespace perfprobe {

// Whether this text of /proc/PID/task/TID/syscall is a wait for a futex in the range.
bool is_futex_in(std::string_view text, const AddressRange& range);

// Not thread-safe.
class LockWait {
 public:
  LockWait();

  // Whether the kernel names the system calls of this process's threads.
  [[nodiscard]] bool is_known() const { return is_known_; }
  // Takes a system call or two. False if it is not known.
  bool waits(int64_t os_thread);

 private:
  KernelFile file_;
  AddressRange runtime_;
  bool is_known_ = false;
};

}  // namespace perfprobe
