// Reads numbers from small files of the kernel. No file stays open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfprobe {

// Reads the beginning of a file. The text is valid until the next read; empty if the file is
// unreadable.
class KernelFile {
 public:
  explicit KernelFile(size_t most_bytes = 65'536) : most_bytes_(most_bytes) {}

  std::string_view read(const std::string& path);

 private:
  size_t most_bytes_;
  std::vector<char> bytes_;
};

// Removes the next number from the text and returns it; -1 if something else comes next.
int64_t take_number(std::string_view& text);

// Returns the number that comes one character after `key`; -1 if there is none.
int64_t number_behind(std::string_view text, std::string_view key);

// Returns the names of a folder's entries, "." and ".." included; none if it is unreadable.
std::vector<std::string> folder_entries(const std::string& folder);

// Returns the entries of a folder whose names are numbers: threads, processes.
std::vector<int64_t> numbered_entries(const std::string& folder);

}  // namespace perfprobe
