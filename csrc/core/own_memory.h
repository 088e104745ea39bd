// Copies this process's memory through the kernel: if an address is no longer mapped, the copy
// fails instead of causing a fault.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <sys/types.h>

namespace perfprobe {

struct MemoryPiece {
  const void* from;
  void* into;
  size_t bytes;
};

// The source of the copies: this process's memory, or an image in tests.
class Memory {
 public:
  virtual ~Memory() = default;

  // Reads the pieces in this order. Returns false if a piece is not readable.
  [[nodiscard]] virtual bool read(std::span<const MemoryPiece> pieces) const = 0;

  template <class T>
  [[nodiscard]] bool read(const void* from, T& into) const {
    const MemoryPiece piece{from, &into, sizeof(T)};
    return read({&piece, 1});
  }

  // Reads a NUL-terminated text of at most `most_bytes`. Returns false if it is not readable.
  [[nodiscard]] bool read_text(const char* from, size_t most_bytes, std::string& into) const;
};

class OwnMemory final : public Memory {
 public:
  enum class Way { system_call, file };  // process_vm_readv, or /proc/self/mem if that is refused

  // Throws std::system_error if the kernel allows neither way.
  OwnMemory();
  explicit OwnMemory(Way way);

  using Memory::read;
  // Uses one system call if possible.
  [[nodiscard]] bool read(std::span<const MemoryPiece> pieces) const override;

 private:
  pid_t process_;
  Way way_;
};

}  // namespace perfprobe
