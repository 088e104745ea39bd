#include "core/native_stack.h"

#include <array>
#include <cstring>
#include <dlfcn.h>

#include <execinfo.h>

namespace perfprobe {

bool library_on_stack(std::initializer_list<const char*> words) {
  std::array<void*, 2048> addresses{};
  const int count = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  if (count == static_cast<int>(addresses.size()))
    return true;
  for (int i = 0; i < count; ++i) {
    Dl_info place{};
    if (::dladdr(addresses[static_cast<size_t>(i)], &place) == 0 || place.dli_fname == nullptr)
      continue;
    for (const char* word : words) {
      if (std::strstr(place.dli_fname, word) != nullptr)
        return true;
    }
  }
  return false;
}

}  // namespace perfprobe
