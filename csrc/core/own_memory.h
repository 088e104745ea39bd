// Copies of this process's own memory, taken through the kernel: an address that is mapped no more
// is a copy that fails, never a fault.
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

// What copies are taken from: this process's memory, or in tests an image of one.
class Memory {
 public:
  virtual ~Memory() = default;

  // In the order given; false when a piece was not readable.
  [[nodiscard]] virtual bool read(std::span<const MemoryPiece> pieces) const = 0;

  template <class T>
  [[nodiscard]] bool read(const void* from, T& into) const {
    const MemoryPiece piece{from, &into, sizeof(T)};
    return read({&piece, 1});
  }

  // A text that ends with NUL, cut off after `most_bytes`; false when it was not readable.
  [[nodiscard]] bool read_text(const char* from, size_t most_bytes, std::string& into) const;
};

class OwnMemory final : public Memory {
 public:
  enum class Way { system_call, file };  // process_vm_readv, or /proc/self/mem where it is refused

  // Throws std::system_error when the kernel allows neither.
  OwnMemory();
  explicit OwnMemory(Way way);

  using Memory::read;
  // With one system call where it can be.
  [[nodiscard]] bool read(std::span<const MemoryPiece> pieces) const override;

 private:
  pid_t process_;
  Way way_;
};

}  // namespace perfprobe
