#include "core/kernel_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dirent.h>

#include "core/descriptor.h"

namespace perfprobe {

std::string_view KernelFile::read(const std::string& path) {
  constexpr size_t kFirstBytes = 65'536;
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  if (!file.is_open())
    return {};
  size_t size = 0;
  for (ssize_t more = 1; more > 0 && size < most_bytes_; size += static_cast<size_t>(more)) {
    if (size == bytes_.size())
      bytes_.resize(std::min(most_bytes_, std::max(kFirstBytes, 2 * size)));
    more = ::read(file.number(), bytes_.data() + size, bytes_.size() - size);
    more = std::max<ssize_t>(more, 0);
  }
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

// With opendir, closedir would close the number without asking whose it is.
std::vector<std::string> folder_entries(const std::string& folder) {
  std::vector<std::string> names;
  const Descriptor open = Descriptor::open(folder, O_RDONLY | O_DIRECTORY);
  alignas(dirent64) std::array<char, 32'768> bytes;
  for (;;) {
    const long size = ::syscall(SYS_getdents64, open.number(), bytes.data(), bytes.size());
    if (size <= 0)
      return names;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(bytes.data() + at);
      names.emplace_back(entry->d_name);
      at += entry->d_reclen;
    }
  }
}

std::vector<int64_t> numbered_entries(const std::string& folder) {
  std::vector<int64_t> numbers;
  for (const std::string& entry : folder_entries(folder)) {
    std::string_view name = entry;
    const int64_t number = take_number(name);
    if (number > 0 && name.empty())
      numbers.push_back(number);
  }
  return numbers;
}

}  // namespace perfprobe
