// A small file of the kernel that is read again and again, and stays open.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/descriptor.h"

namespace perfprobe {

// Opened at the first read, and again if the program has closed it. Where there is no such file, it
// is looked for once. Not thread-safe.
class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(std::string path) : path_(std::move(path)) {}

  // Returns its beginning, valid until the next read; empty if it is unreadable.
  std::string_view read();
  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  void close() { file_.close(); }

 private:
  std::string path_;  // "" once it was opened in vain
  Descriptor file_;
  std::array<char, 128> bytes_{};
};

}  // namespace perfprobe
