#include "cpu/perf/elf_functions.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <unistd.h>

#include <cxxabi.h>
#include <elf.h>

#include "core/descriptor.h"

namespace perfprobe {
namespace {

constexpr size_t kMostNameBytes = 4096;     // of a mangled name; longer ones are cut
constexpr size_t kShownBytes = 400;         // of a name in the recording
constexpr uint64_t kMostSymbols = 1 << 23;  // only a damaged file claims more
constexpr uint64_t kMostSections = 4096;
constexpr uint64_t kUnsizedBytes = 1 << 16;  // taken as the most for a function without a size
constexpr size_t kLookBack = 8;              // functions before an address that may contain it
constexpr uint32_t kGnuIfunc = 10;

struct Closed {
  void operator()(char* text) const { std::free(text); }
};

// Returns "" for a symbol that is not a mangled C++ name.
std::string in_cpp(const std::string& symbol) {
  if (!symbol.starts_with("_Z"))
    return "";
  int status = 0;
  const std::unique_ptr<char, Closed> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : "";
}

}  // namespace

// Reads a file without mapping it: a mapping would fault if the file were truncated meanwhile.
class ElfFunctions::File {
 public:
  explicit File(const std::string& path) : file_(Descriptor::open(path, O_RDONLY)) {
    if (!read_at(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
      header = {};
  }

  bool read_at(uint64_t offset, void* into, size_t bytes) const {
    return read_some(offset, into, bytes) == bytes;
  }
  size_t read_some(uint64_t offset, void* into, size_t bytes) const {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max()))
      return 0;
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(file_.number(), static_cast<char*>(into) + done, bytes - done,
                                  static_cast<off_t>(offset + done));
      if (got <= 0)
        break;
      done += static_cast<size_t>(got);
    }
    return done;
  }
  [[nodiscard]] std::vector<Elf64_Shdr> sections() const {
    std::vector<Elf64_Shdr> found;
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMostSections)
      return found;
    found.resize(header.e_shnum);
    if (!read_at(header.e_shoff, found.data(), found.size() * sizeof(Elf64_Shdr)))
      found.clear();
    return found;
  }
  // Returns the path at which this file's debug symbols are installed; "" if it has no build id.
  [[nodiscard]] std::string debug_path() const {
    for (const Elf64_Shdr& section : sections()) {
      if (section.sh_type != SHT_NOTE || section.sh_size < sizeof(Elf64_Nhdr) + 4)
        continue;
      std::array<unsigned char, 64> note{};
      Elf64_Nhdr head{};
      const size_t got = read_some(section.sh_offset, note.data(), note.size());
      std::memcpy(&head, note.data(), sizeof head);
      const size_t start = sizeof head + 4;  // behind the name "GNU"
      if (head.n_type != NT_GNU_BUILD_ID || head.n_namesz != 4 || head.n_descsz < 2 ||
          start + head.n_descsz > got)
        continue;
      std::string text;
      for (size_t i = 0; i < head.n_descsz; ++i) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", note.at(start + i));
        text += digits.data();
        text += i == 0 ? "/" : "";
      }
      return "/usr/lib/debug/.build-id/" + text + ".debug";
    }
    return "";
  }

  Elf64_Ehdr header{};

 private:
  Descriptor file_;
};

ElfFunctions::ElfFunctions(const std::string& path) {
  const File file(path);
  read_segments(file);
  names_path_ = path;
  if (read_functions(file))
    return;
  const std::string debug = file.debug_path();
  const File symbols(debug);
  if (debug.empty() || symbols.header.e_shnum == 0)
    return;
  const MappedVector<Function> exported = std::move(functions_);
  const uint64_t names_offset = names_offset_;
  const uint64_t names_bytes = names_bytes_;
  functions_ = {};
  names_path_ = debug;
  if (read_functions(symbols))
    return;
  functions_ = exported;
  names_path_ = path;
  names_offset_ = names_offset;
  names_bytes_ = names_bytes;
}

void ElfFunctions::read_segments(const File& file) {
  if (file.header.e_phentsize != sizeof(Elf64_Phdr))
    return;
  std::vector<Elf64_Phdr> headers(file.header.e_phnum);
  if (!file.read_at(file.header.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr)))
    return;
  for (const Elf64_Phdr& header : headers)
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0)
      segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
}

// Returns whether the file has the symbols of all functions, not only of exported ones.
bool ElfFunctions::read_functions(const File& file) {
  const std::vector<Elf64_Shdr> sections = file.sections();
  const Elf64_Shdr* table = nullptr;
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && table == nullptr))
      table = &section;
  if (table == nullptr || table->sh_link >= sections.size() ||
      table->sh_size / sizeof(Elf64_Sym) > kMostSymbols)
    return false;
  std::vector<bool> is_code;
  for (const Elf64_Shdr& section : sections)
    is_code.push_back((section.sh_flags & SHF_EXECINSTR) != 0);
  names_offset_ = sections[table->sh_link].sh_offset;
  names_bytes_ = sections[table->sh_link].sh_size;
  read_table(file, table->sh_offset, table->sh_size, is_code);
  return table->sh_type == SHT_SYMTAB && functions_.size() > 16;
}

// Reads functions, and global labels in code: assembler code often declares no type.
void ElfFunctions::read_table(const File& file, uint64_t table, uint64_t bytes,
                              const std::vector<bool>& is_code) {
  std::vector<Elf64_Sym> some(4096);
  for (uint64_t done = 0; done < bytes;) {
    const size_t asked = std::min<uint64_t>(bytes - done, some.size() * sizeof(Elf64_Sym));
    const size_t got = file.read_some(table + done, some.data(), asked) / sizeof(Elf64_Sym);
    if (got == 0)
      break;
    done += got * sizeof(Elf64_Sym);
    for (size_t i = 0; i < got; ++i) {
      const Elf64_Sym& symbol = some[i];
      const uint32_t type = ELF64_ST_TYPE(symbol.st_info);
      const bool is_label = type == STT_NOTYPE && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
      if (symbol.st_shndx >= is_code.size() || !is_code[symbol.st_shndx] || symbol.st_name == 0 ||
          (type != STT_FUNC && type != kGnuIfunc && !is_label))
        continue;
      const auto size = static_cast<uint32_t>(
          std::min<uint64_t>(symbol.st_size, std::numeric_limits<uint32_t>::max()));
      functions_.push_back({symbol.st_value, size, symbol.st_name});
    }
  }
  std::sort(functions_.begin(), functions_.end());
  functions_.shrink_to_fit();
}

void ElfFunctions::add(uint64_t file_offset, uint64_t most_bytes, const std::string& name) {
  const uint64_t start = address_of(file_offset);
  uint64_t end = start + most_bytes;
  for (const Added& other : added_)
    if (other.function.start > start)
      end = std::min(end, other.function.start);
  for (Added& other : added_) {
    if (other.function.start == start)
      return;
    if (other.function.start < start)
      other.function.bytes =
          std::min(other.function.bytes, static_cast<uint32_t>(start - other.function.start));
  }
  added_.push_back({{start, static_cast<uint32_t>(end - start), 0}, name});
}

uint64_t ElfFunctions::address_of(uint64_t file_offset) const {
  for (const Segment& segment : segments_)
    if (file_offset - segment.file_offset < segment.bytes)
      return file_offset - segment.file_offset + segment.address;
  return file_offset;
}

const ElfFunctions::Added* ElfFunctions::find_added(uint64_t address) const {
  for (const Added& added : added_)
    if (address - added.function.start < added.function.bytes)
      return &added;
  return nullptr;
}

// Returns the place of the function that contains the address, else of the last one before it;
// size_t(-1) if there is none.
size_t ElfFunctions::place_of(uint64_t address) const {
  const auto behind = static_cast<size_t>(
      std::upper_bound(functions_.begin(), functions_.end(), Function{address, 0, 0}) -
      functions_.begin());
  for (size_t back = 1; back <= std::min(behind, kLookBack); ++back)
    if (address - functions_[behind - back].start < functions_[behind - back].bytes)
      return behind - back;
  return behind - 1;
}

NamedFunction ElfFunctions::find(uint64_t file_offset) const {
  const uint64_t address = address_of(file_offset);
  const Added* added = find_added(address);
  if (added != nullptr)
    return {added->function.start, added->name, true};
  const size_t place = place_of(address);
  if (place >= functions_.size())
    return {0, "", false};
  const Function& function = functions_[place];
  const uint64_t distance = address - function.start;
  const bool is_exact =
      distance < function.bytes || (function.bytes == 0 && distance < kUnsizedBytes);
  return {is_exact ? function.start : ~function.start, "", is_exact};
}

NamedFunction ElfFunctions::find_name(uint64_t file_offset) const {
  NamedFunction found = find(file_offset);
  if (!found.name.empty() || found.key == 0)
    return found;
  const size_t place = place_of(address_of(file_offset));
  found.name = name_at(place);
  if (found.is_exact)
    return found;
  size_t next = place + 1;
  while (next < functions_.size() && functions_[next].start == functions_[place].start)
    ++next;
  found.name += ".." + (next < functions_.size() ? name_at(next) : "");
  return found;
}

// If a function has several symbols, takes the usual name: the one with the fewest leading
// underscores, then the shortest.
std::string ElfFunctions::name_at(size_t place) const {
  const File file(names_path_);
  const uint64_t start = functions_[place].start;
  while (place > 0 && functions_[place - 1].start == start)
    --place;
  std::string best;
  const auto rank = [](const std::string& name) {
    return std::pair(name.find_first_not_of('_'), name.size());
  };
  for (; place < functions_.size() && functions_[place].start == start; ++place) {
    std::string name(kMostNameBytes, '\0');
    const uint64_t at = functions_[place].name;
    if (at >= names_bytes_)
      continue;
    name.resize(file.read_some(names_offset_ + at, name.data(),
                               std::min<uint64_t>(name.size(), names_bytes_ - at)));
    name.resize(std::min(name.find('\0'), name.size()));
    name.resize(std::min(name.find('@'), name.size()));  // "fopen@@GLIBC_2.2.5" of debug symbols
    if (!name.empty() && (best.empty() || rank(name) < rank(best)))
      best = name;
  }
  return demangled(best);
}

std::string demangled(const std::string& symbol) {
  std::string name = in_cpp(symbol);
  const size_t suffix = symbol.find('.');  // of the compiler: "._omp_fn.0", ".constprop.1"
  if (name.empty() && suffix != std::string::npos)
    name = in_cpp(symbol.substr(0, suffix));
  if (name.empty())
    name = symbol;
  if (name.size() > kShownBytes)
    name = name.substr(0, kShownBytes) + "...";
  for (char& letter : name)  // a damaged file may hold anything
    letter = letter < ' ' || letter > '~' ? '?' : letter;
  return name;
}

}  // namespace perfprobe
