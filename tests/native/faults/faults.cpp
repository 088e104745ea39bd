#include "faults.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <dirent.h>
#include <spawn.h>

namespace perfprobe::faults {
namespace {

constexpr std::string_view kNames[] = {"open",       "read", "write",   "status", "change",
                                       "descriptor", "map",  "thread",  "fork",   "socket",
                                       "message",    "perf", "process", "memory"};
constexpr int kErrors[] = {EMFILE, EIO,    ENOSPC, EACCES,     EROFS,  EMFILE, ENOMEM,
                           EAGAIN, EAGAIN, EMFILE, ECONNRESET, EACCES, ESRCH,  ENOMEM};

// The real function, found past this library.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

struct Setting {
  Shared* shared = nullptr;
  int kind = -1;
  uint64_t number = 0;

  Setting() {
    const char* path = std::getenv("FAULTS_FILE");
    if (path == nullptr)
      return;
    const int file =
        static_cast<int>(::syscall(SYS_open, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (file < 0 || ::syscall(SYS_ftruncate, file, sizeof(Shared)) != 0)
      return;
    const long memory =
        ::syscall(SYS_mmap, nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::syscall(SYS_close, file);
    if (memory < 0 && memory > -4096)
      return;
    shared = reinterpret_cast<Shared*>(memory);
    if (const char* fault = std::getenv("FAULTS"))
      choose(fault);
  }

  void choose(std::string_view fault) {
    const size_t colon = fault.find(':');
    for (int i = 0; i < static_cast<int>(Kind::count); ++i) {
      if (kNames[i] == fault.substr(0, colon))
        kind = i;
    }
    number = std::strtoull(fault.data() + colon + 1, nullptr, 10);
  }
};

Setting& setting() {
  static Setting made;
  return made;
}

// Before main, so that no call of a program makes it.
__attribute__((constructor)) void begin() {
  inside = true;
  setting();
  inside = false;
}

// Python maps memory, too, in the middle of an allocation: its frames must not be looked at then.
bool is_python_inside(Kind kind) {
  return kind == Kind::memory || kind == Kind::map;
}

}  // namespace

bool fails(Kind kind, const void* caller) {
  if (inside)
    return false;
  inside = true;
  const int error = errno;
  bool failing = false;
  char where[sizeof(Shared::where)] = "";
  Shared* shared = setting().shared;
  const int index = static_cast<int>(kind);
  if (shared != nullptr && is_own(caller, is_python_inside(kind), where, sizeof(where))) {
    const uint64_t number = shared->calls[index].fetch_add(1) + 1;
    failing = index == setting().kind && number == setting().number;
    if (failing) {
      std::memcpy(shared->where, where, sizeof(where));
      shared->failed.fetch_add(1);
    }
  }
  errno = failing ? kErrors[index] : error;
  inside = false;
  return failing;
}

}  // namespace perfprobe::faults

using perfprobe::faults::fails;
using perfprobe::faults::Kind;
using perfprobe::faults::next;

#define CALLER __builtin_return_address(0)

// A function of libc that returns `failed` if it fails.
#define WRAP(kind, result, failed, name, parameters, arguments)           \
  result name parameters {                                                \
    static const auto real = next<result(*) parameters>(#name);           \
    return fails(Kind::kind, CALLER) ? (result)(failed) : real arguments; \
  }

#define WRAP_OPEN(name, parameters, ...)                                                 \
  int name parameters {                                                                  \
    static const auto real = next<int (*)(...)>(#name);                                  \
    va_list rest;                                                                        \
    va_start(rest, flags);                                                               \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                                        \
    return fails(Kind::open, CALLER) ? -1 : real(__VA_ARGS__, flags, mode);              \
  }

extern "C" {
struct stat;
struct stat64;

WRAP_OPEN(open, (const char* path, int flags, ...), path);
WRAP_OPEN(open64, (const char* path, int flags, ...), path);
WRAP_OPEN(openat, (int folder, const char* path, int flags, ...), folder, path);
WRAP_OPEN(openat64, (int folder, const char* path, int flags, ...), folder, path);
WRAP(open, FILE*, nullptr, fopen, (const char* path, const char* mode), (path, mode));
WRAP(open, FILE*, nullptr, fopen64, (const char* path, const char* mode), (path, mode));
WRAP(open, DIR*, nullptr, opendir, (const char* path), (path));
WRAP(open, DIR*, nullptr, fdopendir, (int folder), (folder));

WRAP(read, ssize_t, -1, read, (int file, void* to, size_t bytes), (file, to, bytes));
WRAP(read, ssize_t, -1, pread, (int file, void* to, size_t bytes, off_t at), (file, to, bytes, at));
WRAP(read, ssize_t, -1, pread64, (int file, void* to, size_t bytes, off64_t at),
     (file, to, bytes, at));
WRAP(read, ssize_t, -1, readlink, (const char* path, char* to, size_t bytes), (path, to, bytes));
WRAP(read, ssize_t, -1, getrandom, (void* to, size_t bytes, unsigned flags), (to, bytes, flags));
WRAP(read, char*, nullptr, getcwd, (char* to, size_t bytes), (to, bytes));

WRAP(write, ssize_t, -1, write, (int file, const void* from, size_t bytes), (file, from, bytes));
WRAP(write, ssize_t, -1, pwrite, (int file, const void* from, size_t bytes, off_t at),
     (file, from, bytes, at));
WRAP(write, ssize_t, -1, pwrite64, (int file, const void* from, size_t bytes, off64_t at),
     (file, from, bytes, at));
WRAP(write, int, -1, ftruncate, (int file, off_t bytes), (file, bytes));
WRAP(write, int, -1, ftruncate64, (int file, off64_t bytes), (file, bytes));

WRAP(status, int, -1, stat, (const char* path, struct stat* to), (path, to));
WRAP(status, int, -1, stat64, (const char* path, struct stat64* to), (path, to));
WRAP(status, int, -1, lstat, (const char* path, struct stat* to), (path, to));
WRAP(status, int, -1, lstat64, (const char* path, struct stat64* to), (path, to));
WRAP(status, int, -1, fstat, (int file, struct stat* to), (file, to));
WRAP(status, int, -1, fstat64, (int file, struct stat64* to), (file, to));
WRAP(status, int, -1, fstatat, (int folder, const char* path, struct stat* to, int flags),
     (folder, path, to, flags));
WRAP(status, int, -1, fstatat64, (int folder, const char* path, struct stat64* to, int flags),
     (folder, path, to, flags));
WRAP(status, int, -1, access, (const char* path, int mode), (path, mode));
WRAP(status, off_t, -1, lseek, (int file, off_t at, int from), (file, at, from));
WRAP(status, off64_t, -1, lseek64, (int file, off64_t at, int from), (file, at, from));

WRAP(change, int, -1, unlink, (const char* path), (path));
WRAP(change, int, -1, rename, (const char* from, const char* to), (from, to));
WRAP(change, int, -1, mkdir, (const char* path, mode_t mode), (path, mode));
WRAP(change, int, -1, rmdir, (const char* path), (path));
WRAP(change, int, -1, chmod, (const char* path, mode_t mode), (path, mode));
WRAP(change, int, -1, fchmod, (int file, mode_t mode), (file, mode));

int fcntl(int file, int command, ...) {
  static const auto real = next<int (*)(int, int, ...)>("fcntl");
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fails(Kind::descriptor, CALLER) ? -1 : real(file, command, argument);
}
int fcntl64(int file, int command, ...) {
  static const auto real = next<int (*)(int, int, ...)>("fcntl64");
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fails(Kind::descriptor, CALLER) ? -1 : real(file, command, argument);
}
WRAP(descriptor, int, -1, dup, (int file), (file));
WRAP(descriptor, int, -1, eventfd, (unsigned start, int flags), (start, flags));
WRAP(descriptor, int, -1, dup2, (int file, int to), (file, to));
WRAP(descriptor, int, -1, dup3, (int file, int to, int flags), (file, to, flags));
WRAP(descriptor, int, -1, pipe, (int* files), (files));
WRAP(descriptor, int, -1, pipe2, (int* files, int flags), (files, flags));
WRAP(descriptor, int, -1, flock, (int file, int operation), (file, operation));

WRAP(map, void*, MAP_FAILED, mmap,
     (void* at, size_t bytes, int protection, int flags, int file, off_t from),
     (at, bytes, protection, flags, file, from));
WRAP(map, void*, MAP_FAILED, mmap64,
     (void* at, size_t bytes, int protection, int flags, int file, off64_t from),
     (at, bytes, protection, flags, file, from));
WRAP(map, int, -1, mprotect, (void* at, size_t bytes, int protection), (at, bytes, protection));
// A failed one must leave its reason for dlerror.
void* dlopen(const char* path, int mode) {
  static const auto real = next<void* (*)(const char*, int)>("dlopen");
  return real(fails(Kind::open, CALLER) ? "/no/such/library" : path, mode);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  static const auto real = next<decltype(&pthread_create)>("pthread_create");
  return fails(Kind::thread, CALLER) ? EAGAIN : real(thread, attributes, run, argument);
}
WRAP(fork, pid_t, -1, fork, (), ());
int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* words, char* const* variables) {
  static const auto real = next<decltype(&posix_spawn)>("posix_spawn");
  return fails(Kind::fork, CALLER) ? EAGAIN
                                   : real(process, path, actions, attributes, words, variables);
}
// A wrapper cannot return twice into a frame that is gone, as vfork would. A fork does as well.
pid_t vfork() {
  static const auto real = next<pid_t (*)()>("fork");
  return fails(Kind::fork, CALLER) ? -1 : real();
}

WRAP(socket, int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol));
WRAP(socket, int, -1, socketpair, (int domain, int type, int protocol, int* files),
     (domain, type, protocol, files));
WRAP(socket, int, -1, bind, (int file, const sockaddr* to, socklen_t bytes), (file, to, bytes));
WRAP(socket, int, -1, listen, (int file, int most), (file, most));
WRAP(socket, int, -1, connect, (int file, const sockaddr* to, socklen_t bytes), (file, to, bytes));
WRAP(message, int, -1, accept4, (int file, sockaddr* from, socklen_t* bytes, int flags),
     (file, from, bytes, flags));
WRAP(message, ssize_t, -1, send, (int file, const void* from, size_t bytes, int flags),
     (file, from, bytes, flags));
WRAP(message, ssize_t, -1, recv, (int file, void* to, size_t bytes, int flags),
     (file, to, bytes, flags));
WRAP(message, ssize_t, -1, recvfrom,
     (int file, void* to, size_t bytes, int flags, sockaddr* from, socklen_t* size),
     (file, to, bytes, flags, from, size));
WRAP(message, ssize_t, -1, sendto,
     (int file, const void* from, size_t bytes, int flags, const sockaddr* to, socklen_t size),
     (file, from, bytes, flags, to, size));
WRAP(message, ssize_t, -1, sendmsg, (int file, const msghdr* message, int flags),
     (file, message, flags));
WRAP(message, ssize_t, -1, recvmsg, (int file, msghdr* message, int flags), (file, message, flags));

struct iovec;
WRAP(process, ssize_t, -1, process_vm_readv,
     (pid_t process, const iovec* to, unsigned long own, const iovec* from, unsigned long others,
      unsigned long flags),
     (process, to, own, from, others, flags));
WRAP(process, int, -1, sched_getaffinity, (pid_t process, size_t bytes, cpu_set_t* to),
     (process, bytes, to));
WRAP(process, int, -1, sched_setaffinity, (pid_t process, size_t bytes, const cpu_set_t* to),
     (process, bytes, to));
WRAP(process, int, -1, kill, (pid_t process, int signal), (process, signal));

long syscall(long number, ...) {
  static const auto real = next<long (*)(long, ...)>("syscall");
  va_list rest;
  va_start(rest, number);
  long values[6];
  for (long& value : values)
    value = va_arg(rest, long);
  va_end(rest);
  const Kind kind = number == SYS_perf_event_open ? Kind::perf : Kind::process;
  if (number != SYS_gettid && number != SYS_futex && fails(kind, CALLER))
    return -1;
  return real(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

WRAP(perf, int, -1, ioctl, (int file, unsigned long request, void* argument),
     (file, request, argument));

WRAP(memory, void*, nullptr, malloc, (size_t bytes), (bytes));
}

#define WRAP_NEW(parameters, arguments) \
  void* operator new parameters {       \
    if (fails(Kind::memory, CALLER))    \
      throw std::bad_alloc();           \
    return allocated arguments;         \
  }

namespace {
void* allocated(size_t bytes, std::align_val_t alignment = std::align_val_t{16}) {
  void* memory =
      ::aligned_alloc(static_cast<size_t>(alignment), (bytes + static_cast<size_t>(alignment) - 1) /
                                                          static_cast<size_t>(alignment) *
                                                          static_cast<size_t>(alignment));
  if (memory == nullptr)
    throw std::bad_alloc();
  return memory;
}
}  // namespace

WRAP_NEW((size_t bytes), (bytes));
WRAP_NEW((size_t bytes, std::align_val_t alignment), (bytes, alignment));
