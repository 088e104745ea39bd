#include "cpu/perf/code_map.h"

#include <algorithm>
#include <charconv>
#include <dlfcn.h>

#include "core/kernel_files.h"

namespace perfprobe {
namespace {

constexpr std::string_view kGenerated = "(generated code)";
constexpr std::string_view kUnknown = "(unknown)";

// Takes the next word of a line of /proc/self/maps.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

uint64_t hexadecimal(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

bool is_c_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libc-2");
}

// A stripped C library does not name the variants of memcpy and others that it chooses for the
// processor. `dlsym` gives their addresses.
void add_chosen(uint64_t start, uint64_t end, uint64_t file_offset, ElfFunctions& functions) {
  constexpr std::array kChosen{"memcpy", "mempcpy", "memset", "memcmp", "memchr",
                               "strlen", "strcmp",  "strchr", "strcpy", "strncmp"};
  constexpr uint64_t kMostBytes = 4096;
  for (const char* name : kChosen) {
    const auto address = reinterpret_cast<uint64_t>(::dlsym(RTLD_DEFAULT, name));
    if (address >= start && address < end)
      functions.add(address - start + file_offset, kMostBytes, name);
  }
}

}  // namespace

CodeMap::CodeMap(Recorder& recorder, std::string maps)
    : recorder_(recorder), maps_(std::move(maps)) {}

void CodeMap::refresh() {
  std::vector<Mapped> found;
  constexpr size_t kMostBytes = 16'777'216;  // the kernel's usual limit of 65,530 mappings
  KernelFile file(kMostBytes);
  for (std::string_view text = file.read(maps_); !text.empty();) {
    add_line(text.substr(0, text.find('\n')), found);
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  std::sort(found.begin(), found.end());
  if (found == mapped_)
    return;
  mapped_ = std::move(found);
  known_.clear();
}

// "7f1f02400000-7f1f025a0000 r-xp 00026000 fe:01 1234    /usr/lib/libc.so.6"
void CodeMap::add_line(std::string_view line, std::vector<Mapped>& found) {
  const std::string_view range = take_word(line);
  const std::string_view rights = take_word(line);
  const uint64_t file_offset = hexadecimal(take_word(line));
  take_word(line);  // device
  take_word(line);  // inode
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos || rights.find('x') == std::string_view::npos)
    return;
  const bool has_file = line.starts_with('/');
  const std::string_view library = has_file || line == "[vdso]" ? line : kGenerated;
  found.push_back({hexadecimal(range.substr(0, dash)), hexadecimal(range.substr(dash + 1)),
                   file_offset, library_of(library)});
}

size_t CodeMap::library_of(std::string_view path) {
  const auto known = library_numbers_.find(path);
  if (known != library_numbers_.end())
    return known->second;
  const size_t number = libraries_.size();
  libraries_.push_back({std::string(path), intern(std::string(path)), nullptr});
  library_numbers_.emplace(path, number);
  return number;
}

ElfFunctions& CodeMap::functions_of(const Mapped& mapped) {
  Library& library = libraries_[mapped.library];
  if (library.functions == nullptr) {
    library.functions = std::make_unique<ElfFunctions>(library.path);
    if (is_c_library(library.path))
      add_chosen(mapped.start, mapped.end, mapped.file_offset, *library.functions);
  }
  return *library.functions;
}

int32_t CodeMap::find(uint64_t address) {
  const auto known = known_.find(address);
  if (known != known_.end())
    return known->second;
  if (known_.size() >= kMostAddresses)
    known_.clear();
  const int32_t row = look_up(address);
  known_.emplace(address, row);
  return row;
}

int32_t CodeMap::look_up(uint64_t address) {
  const auto behind =
      std::upper_bound(mapped_.begin(), mapped_.end(), address,
                       [](uint64_t value, const Mapped& mapped) { return value < mapped.start; });
  if (behind == mapped_.begin() || address >= (behind - 1)->end)
    return row_of(library_of(kUnknown), 0, "", false);
  const Mapped& mapped = *(behind - 1);
  if (!libraries_[mapped.library].path.starts_with('/'))
    return row_of(mapped.library, 0, "", false);
  const uint64_t file_offset = address - mapped.start + mapped.file_offset;
  const ElfFunctions& functions = functions_of(mapped);
  const NamedFunction found = functions.find(file_offset);
  const auto row = functions_.find({mapped.library, found.key});
  if (row != functions_.end())
    return row->second;
  const NamedFunction named = functions.find_name(file_offset);
  return row_of(mapped.library, named.key, named.name, named.is_exact);
}

int32_t CodeMap::row_of(size_t library, uint64_t key, const std::string& name, bool is_exact) {
  auto [place, is_new] = functions_.try_emplace({library, key}, kNone);
  if (!is_new)
    return place->second;
  if (made_ >= kMostFunctions) {
    ++others_;
    place->second = static_cast<int32_t>(made_) - 1;
    return place->second;
  }
  const bool is_last = made_ + 1 == kMostFunctions;
  const int32_t text = is_last ? intern("(other)") : name.empty() ? kNone : intern(name);
  const int32_t file = is_last ? intern(std::string(kUnknown)) : libraries_[library].text;
  rows_.add({file, text, static_cast<int8_t>(is_exact)});
  place->second = static_cast<int32_t>(made_++);
  return place->second;
}

int32_t CodeMap::intern(const std::string& text) {
  return recorder_.define([&](Definitions& definitions) { return definitions.intern(text).id; });
}

}  // namespace perfprobe
