#include "core/kernel_files.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

#include <dirent.h>

namespace perfprobe {

std::string_view KernelFile::read(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  bytes_.resize(kMostBytes);
  size_t size = 0;
  for (ssize_t more = 1; more > 0 && size < bytes_.size(); size += static_cast<size_t>(more))
    more = std::max<ssize_t>(::read(file, bytes_.data() + size, bytes_.size() - size), 0);
  ::close(file);
  return {bytes_.data(), size};
}

int64_t take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0)
    return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

int64_t number_behind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos || at + key.size() >= text.size())
    return -1;
  text.remove_prefix(at + key.size() + 1);
  return take_number(text);
}

std::vector<int64_t> numbered_entries(const std::string& folder) {
  std::vector<int64_t> numbers;
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr)
    return numbers;
  while (const dirent* entry = ::readdir(entries)) {
    std::string_view name = entry->d_name;
    const int64_t number = take_number(name);
    if (number > 0 && name.empty())
      numbers.push_back(number);
  }
  ::closedir(entries);
  return numbers;
}

}  // namespace perfprobe
