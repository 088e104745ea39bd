#include "core/source_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/descriptor.h"
#include "core/kernel_files.h"

namespace perfprobe {
namespace {

constexpr std::string_view kBlanks = " \t\f\v\r\n";
constexpr uint64_t kOffset = 0xcbf29ce484222325ULL;  // both are FNV-1a's
constexpr uint64_t kPrime = 0x100000001b3ULL;

// Returns the bytes of a regular file that was last written until then; none for any other.
MappedVector<char> bytes_of(const std::string& path, int64_t until_ns) {
  const Descriptor file = Descriptor::open(path, O_RDONLY | O_NONBLOCK);  // a pipe would wait
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode))
    return {};
  const int64_t written_ns = status.st_mtim.tv_sec * kSecondNs + status.st_mtim.tv_nsec;
  if (written_ns > until_ns || status.st_size <= 0 || status.st_size > SourceLines::kLargestFile)
    return {};
  MappedVector<char> bytes(static_cast<size_t>(status.st_size));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t more = ::read(file.number(), bytes.data() + at, bytes.size() - at);
    if (more <= 0)
      return {};  // it is being changed
    at += static_cast<size_t>(more);
  }
  return bytes;
}

// Removes the next line, as Python counts lines, and returns it.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  const size_t breaks = text.substr(end).starts_with("\r\n") ? 2 : 1;
  text.remove_prefix(std::min(end + breaks, text.size()));
  return line;
}

std::string current_folder() {
  std::array<char, PATH_MAX> folder{};
  return ::getcwd(folder.data(), folder.size()) == nullptr ? "" : folder.data();
}

}  // namespace

int64_t hash_line(std::string_view line) {
  const size_t first = std::min(line.find_first_not_of(kBlanks), line.size());
  const size_t last = line.find_last_not_of(kBlanks);
  uint64_t hash = kOffset;
  for (const char letter :
       line.substr(first, last == std::string_view::npos ? 0 : last + 1 - first))
    hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  return static_cast<int64_t>(hash >> 1);
}

int64_t process_began_ns() {
  constexpr int kBehindName = 20;  // fields of /proc/self/stat, from the state on
  KernelFile file;
  std::string_view text = file.read("/proc/self/stat");
  const size_t name_end = text.rfind(") ");
  text.remove_prefix(name_end == std::string_view::npos ? text.size() : name_end + 2);
  for (int field = 1; field < kBehindName && !text.empty(); ++field)
    text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  const int64_t ticks = take_number(text);
  const long each = ::sysconf(_SC_CLK_TCK);
  if (ticks < 0 || each <= 0)
    return 0;
  const int64_t since_boot_ns = (ticks + 1) * (kSecondNs / each);
  return read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_BOOTTIME) + since_boot_ns;
}

void SourceLines::set_folders(std::vector<std::pair<std::string, bool>> folders, int64_t began_ns) {
  tables_ = std::make_unique<Tables>();
  tables_->users.set_folders(std::move(folders));
  tables_->folder = current_folder();
  tables_->began_ns = began_ns;
}

SourceLines::Lines SourceLines::read(std::string_view path) {
  const std::string whole =
      path.starts_with('/') ? std::string(path) : tables_->folder + "/" + std::string(path);
  if (path.empty() || path.starts_with('<') || !tables_->users.holds(whole))
    return {};
  const MappedVector<char> bytes = bytes_of(whole, tables_->began_ns);
  MappedVector<int64_t>& hashes = tables_->hashes;
  Lines lines{.first = hashes.size()};
  for (std::string_view text(bytes.data(), bytes.size());
       !text.empty() && hashes.size() < kMostLines;)
    hashes.push_back(hash_line(next_line(text)));
  lines.count = hashes.size() - lines.first;
  return lines;
}

}  // namespace perfprobe
