#include "core/run_delay.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/kernel_files.h"

namespace perfprobe {

int64_t RunDelay::read_ns(int64_t os_thread) {
  if (std::exchange(os_thread_, os_thread) != os_thread)
    schedstat_ = KeptFile("/proc/self/task/" + std::to_string(os_thread) + "/schedstat");
  std::string_view text = schedstat_.read();
  return take_number(text) < 0 ? -1 : take_number(text);
}

}  // namespace perfprobe
