#include "core/thread_name.h"

#include "core/kernel_files.h"

namespace perfprobe {

std::string thread_name(int64_t os_thread) {
  constexpr size_t kMostBytes = 64;  // a name has 16
  KernelFile file(kMostBytes);
  const std::string_view text = file.read("/proc/self/task/" + std::to_string(os_thread) + "/comm");
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace perfprobe
