// A file descriptor of perfprobe, in a program that may close any descriptor and reuse its number:
// daemons close all that they do not know, and their own files then get these numbers.
//
// It is moved to a high number, so that the program's files get the same numbers as without
// perfprobe. It is recognised by what the kernel does not give to another: a file by its device,
// inode and time of birth, a socket by its cookie too, an event of perf by its id too. Eventfds and
// epolls all look the same, so perfprobe opens none.
//
// What remains, each for about a microsecond: the program may close and reuse the number between a
// check and the system call that follows. A new socket or event may be mistaken for one that the
// program opens under its number. A new descriptor takes a low number until it is moved, and a dup2
// onto that fails with EBUSY. Of a file system without times of birth, a removed file's inode may
// come back as another file.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace perfprobe {

// Not thread-safe: the owner locks. It allocates nothing, so a forked child may close its copy.
class Descriptor {
 public:
  enum class Kind : uint8_t { file, socket, perf_event };

  Descriptor() = default;
  // Takes over the result of a system call. If that is -1, nothing is owned and errno stays.
  explicit Descriptor(int opened, Kind kind = Kind::file);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  // Like open(2), always with O_CLOEXEC.
  static Descriptor open(const std::string& path, int flags, mode_t mode = 0);

  // The number, for one system call. -1 if there is none or the program has closed it: the kernel
  // refuses the call with EBADF.
  [[nodiscard]] int number() const;
  // Whether it was opened and not closed by perfprobe. The program may have closed it.
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] bool is_lost() const { return is_open() && number() < 0; }
  // Whether both are, or were, open for the same file.
  [[nodiscard]] bool has_same_file(const Descriptor& other) const {
    return is_open() && identity_ == other.identity_;
  }
  void close();

 private:
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;  // 0: there is no such descriptor
    int64_t born_s = 0;  // 0: the file system does not keep it
    uint32_t born_ns = 0;
    uint64_t id = 0;  // a socket's cookie, an event's id
    bool operator==(const Identity&) const = default;
  };
  // Of a descriptor, or of a path if the number is AT_FDCWD.
  static Identity identity(int number, Kind kind, const char* path = "");
  static uint64_t id(int number, Kind kind);

  void take(int opened, const Identity& expected);
  [[nodiscard]] bool is_at(int number) const;

  int number_ = -1;
  Kind kind_ = Kind::file;
  Identity identity_;
};

}  // namespace perfprobe
