// Small files in which the kernel tells numbers. Nothing stays open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfprobe {

// The first 64 KB of a file; valid until the next one is read. Empty where it cannot be read.
class KernelFile {
 public:
  std::string_view read(const std::string& path);

 private:
  static constexpr size_t kMostBytes = 65'536;
  std::vector<char> bytes_;
};

// The next number of a text, which is taken off it; -1 where something else stands there.
int64_t take_number(std::string_view& text);

// The number behind `key` and one character; -1 where there is none.
int64_t number_behind(std::string_view text, std::string_view key);

// The numbers that are names of entries of a folder: threads, processes.
std::vector<int64_t> numbered_entries(const std::string& folder);

}  // namespace perfprobe
