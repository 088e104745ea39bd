#include "core/run_delay.h"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "core/kernel_files.h"

namespace perfprobe {

void RunDelay::open(int64_t os_thread) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%lld/schedstat",
                static_cast<long long>(os_thread));
  schedstat_ = Descriptor::open(path.data(), O_RDONLY);
}

// The file holds a sum, so nothing is lost if the program has closed the descriptor. Where there is
// no such file, it is looked for once.
int64_t RunDelay::read_ns(int64_t os_thread) {
  if (std::exchange(os_thread_, os_thread) != os_thread)
    open(os_thread);
  int file = schedstat_.number();
  if (file < 0 && schedstat_.is_open()) {
    open(os_thread);
    file = schedstat_.number();
  }
  std::array<char, 128> bytes{};
  const ssize_t got = file < 0 ? -1 : ::pread(file, bytes.data(), bytes.size(), 0);
  if (got <= 0)
    return -1;
  std::string_view text{bytes.data(), static_cast<size_t>(got)};
  return take_number(text) < 0 ? -1 : take_number(text);
}

}  // namespace perfprobe
