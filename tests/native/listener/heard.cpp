#include "heard.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace perfprobe::listener {

namespace {

int open_log(const char* path) {
  return path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

int file = open_log(std::getenv("PERFPROBE_LISTENER_LOG"));

}  // namespace

bool is_logging() {
  return file >= 0;
}

void log(const char* event, const std::string& text) {
  if (!is_logging())
    return;
  const std::string line = std::to_string(::getpid()) + " " +
                           std::to_string(::syscall(SYS_gettid)) + " " + event + " " + text + "\n";
  if (::write(file, line.data(), line.size()) < 0)
    std::perror("listener");
}

void log_into(const char* path) {
  file = open_log(path);
}

const char* kept(const char* text) {
  return keep(std::string(text)).c_str();
}

uint64_t begin_range(const char* text) {
  static uint64_t ranges = 100;  // a number that the emitter would not use itself
  const uint64_t range = __atomic_add_fetch(&ranges, 1, __ATOMIC_RELAXED);
  log("begin", std::to_string(range) + " " + text);
  return range;
}

void end_range(uint64_t range) {
  log("end", std::to_string(range));
}

bool is_own_domain(const char* name) {
  return std::strcmp(name, "perfprobe") == 0;
}

}  // namespace perfprobe::listener
