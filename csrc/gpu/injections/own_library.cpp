#include "gpu/injections/own_library.h"

#include <cstring>
#include <dlfcn.h>

namespace perfprobe {
namespace {

const RangeSink* connected = nullptr;  // set once; accessed by the compiler's atomic functions

// Length of a path up to and including its last slash.
size_t folder_bytes(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? 0 : static_cast<size_t>(slash - path) + 1;
}

}  // namespace

const RangeSink* sink() {
  return __atomic_load_n(&connected, __ATOMIC_ACQUIRE);
}

const char* library_of(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "?";
}

const char* symbol_of(const void* address) {
  Dl_info info{};
  const bool found = ::dladdr(address, &info) != 0 && info.dli_sname != nullptr;
  return found ? info.dli_sname : library_of(address);
}

bool is_own_module(const void* address) {
  const char* ours = library_of(reinterpret_cast<const void*>(&sink));
  const char* theirs = library_of(address);
  const size_t folder = folder_bytes(ours);
  if (folder != folder_bytes(theirs) || std::strncmp(ours, theirs, folder) != 0)
    return false;
  const char* name = theirs + folder;
  return std::strncmp(name, "_core.", 6) == 0 || std::strncmp(name, "_observer.", 10) == 0;
}

extern "C" __attribute__((visibility("default"))) void perfprobe_connect(const RangeSink* sink) {
  __atomic_store_n(&connected, sink, __ATOMIC_RELEASE);
}

}  // namespace perfprobe
