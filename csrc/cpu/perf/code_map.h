// Names the function at an address of this process: the library that is mapped there, and its
// symbol. Each function becomes a row of the table `native_functions` when it is first seen,
// because a library may be unloaded before the recording ends.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/mapped_memory.h"
#include "core/recorder.h"
#include "core/row_table.h"
#include "cpu/perf/elf_functions.h"

namespace perfprobe {

struct NativeFunctionRow {
  int32_t library;  // a string: the path of the file, "[vdso]", "(generated code)", "(unknown)"
  int32_t name;     // a string; kNone if the file has no name for it
  int8_t is_exact;  // 0: it has no name, and `name` is the two functions around it, "a..b"

  static constexpr std::string_view kTable = "native_functions";
  static constexpr auto columns() {
    using Row = NativeFunctionRow;
    return std::array{column<&Row::library>("library"), column<&Row::name>("name"),
                      column<&Row::is_exact>("is_exact")};
  }
};

class CodeMap {
 public:
  // maps: a file in the format of /proc/self/maps.
  explicit CodeMap(Recorder& recorder, std::string maps = "/proc/self/maps");

  // Looks for code mapped or unmapped since the last call. Call it before each batch of addresses.
  void refresh();
  // Returns the row of the function at this address.
  int32_t find(uint64_t address);
  // Writes the new rows. Call it before rows that refer to them are written.
  void write() { rows_.write(recorder_, true); }

  [[nodiscard]] int64_t functions() const { return made_; }
  [[nodiscard]] int64_t others() const { return others_; }

 private:
  struct Mapped {
    uint64_t start, end, file_offset;
    size_t library;
    auto operator<=>(const Mapped&) const = default;
  };
  struct Library {
    std::string path;
    int32_t text;
    std::unique_ptr<ElfFunctions> functions;  // read when the first address in it is seen
  };

  void add_line(std::string_view line, std::vector<Mapped>& found);
  size_t library_of(std::string_view path);
  ElfFunctions& functions_of(const Mapped& mapped);
  int32_t look_up(uint64_t address);
  int32_t row_of(size_t library, uint64_t key, const std::string& name, bool is_exact);
  int32_t intern(const std::string& text);

  static constexpr int64_t kMostFunctions = 65'536;  // further ones share a row
  static constexpr size_t kMostAddresses = 1 << 18;  // that are remembered

  Recorder& recorder_;
  const std::string maps_;
  std::vector<Mapped> mapped_;  // executable ones, by address
  std::vector<Library> libraries_;
  std::map<std::string, size_t, std::less<>> library_numbers_;
  MappedPool pool_;
  std::pmr::unordered_map<uint64_t, int32_t> known_{pool_.resource()};  // by address
  std::pmr::map<std::pair<size_t, uint64_t>, int32_t> functions_{pool_.resource()};
  RowTable<NativeFunctionRow> rows_;
  int64_t made_ = 0;
  int64_t others_ = 0;
};

}  // namespace perfprobe
