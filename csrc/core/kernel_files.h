// Reads numbers from small files of the kernel. No file stays open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfprobe {

// Reads the first 64 KB of a file. The text is valid until the next read; empty if the file is
// unreadable.
class KernelFile {
 public:
  std::string_view read(const std::string& path);

 private:
  static constexpr size_t kMostBytes = 65'536;
  std::vector<char> bytes_;
};

// Removes the next number from the text and returns it; -1 if something else comes next.
int64_t take_number(std::string_view& text);

// Returns the number that comes one character after `key`; -1 if there is none.
int64_t number_behind(std::string_view text, std::string_view key);

// Returns the entries of a folder whose names are numbers: threads, processes.
std::vector<int64_t> numbered_entries(const std::string& folder);

}  // namespace perfprobe
