#include "core/thread_name.h"

#include <fstream>

namespace perfprobe {

std::string thread_name(int64_t os_thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(os_thread) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace perfprobe
