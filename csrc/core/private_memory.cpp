#include "core/private_memory.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "core/kernel_files.h"

namespace perfprobe {

int64_t private_bytes() {
  try {
    KernelFile file(4096);
    std::string_view text = file.read("/proc/self/smaps_rollup");
    constexpr std::string_view kKey = "Private_Dirty:";
    const size_t at = text.find(kKey);
    if (at == std::string_view::npos)
      return -1;
    text.remove_prefix(at + kKey.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const int64_t kilobytes = take_number(text);
    return kilobytes < 0 ? -1 : kilobytes * 1024;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

}  // namespace perfprobe
