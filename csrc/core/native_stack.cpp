#include "core/native_stack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <execinfo.h>
#include <link.h>

namespace perfprobe {
namespace {

struct Search {
  std::span<void* const> addresses;
  std::initializer_list<const char*> words;
  bool found = false;
};

bool holds(const dl_phdr_info& library, std::span<void* const> addresses) {
  const std::span segments(library.dlpi_phdr, library.dlpi_phnum);
  return std::ranges::any_of(segments, [&](const ElfW(Phdr) & segment) {
    const uintptr_t start = library.dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && std::ranges::any_of(addresses, [&](void* address) {
             return reinterpret_cast<uintptr_t>(address) - start < segment.p_memsz;
           });
  });
}

int look(dl_phdr_info* library, size_t /*size*/, void* context) {
  auto& search = *static_cast<Search*>(context);
  const bool is_meant = std::ranges::any_of(search.words, [&](const char* word) {
    return std::strstr(library->dlpi_name, word) != nullptr;
  });
  search.found = is_meant && holds(*library, search.addresses);
  return search.found ? 1 : 0;
}

}  // namespace

// Compares addresses with those of the libraries: dladdr would search all of torch's symbols, which
// takes milliseconds.
bool library_on_stack(std::initializer_list<const char*> words) {
  std::array<void*, 2048> addresses{};
  const int count = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  if (count == static_cast<int>(addresses.size()))
    return true;
  Search search{{addresses.data(), static_cast<size_t>(count)}, words};
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

}  // namespace perfprobe
