#include "core/forked_exit.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace perfprobe {
namespace {

void end_if_forked(int status, void* process) {
  if (getpid() != static_cast<pid_t>(reinterpret_cast<intptr_t>(process))) {
    std::fflush(nullptr);
    _exit(status);
  }
}

}  // namespace

void end_forked_children_early() {
  static pid_t registered = 0;
  if (registered != getpid()) {
    registered = getpid();
    on_exit(end_if_forked, reinterpret_cast<void*>(static_cast<intptr_t>(registered)));
  }
}

}  // namespace perfprobe
