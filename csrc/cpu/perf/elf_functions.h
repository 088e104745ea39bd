// The functions of an ELF file, found by the offset of their code in the file.
//
// The table of a large library (libtorch_cpu.so has 450,000 functions) takes 16 bytes for each;
// names are read from the file only when they are asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/mapped_memory.h"

namespace perfprobe {

struct NamedFunction {
  uint64_t key;      // the same for all addresses in the function
  std::string name;  // demangled; "a..b": it has no name and lies between these two; "" not known
  bool is_exact;
};

class ElfFunctions {
 public:
  // A file that cannot be read has no functions. For a stripped file, the installed file with its
  // debug symbols is read, if there is one.
  explicit ElfFunctions(const std::string& path);

  // Adds a name for code that has none in the file. The code ends at the next function, after
  // `most_bytes` at most.
  void add(uint64_t file_offset, uint64_t most_bytes, const std::string& name);

  // Looks up the function, without its name.
  [[nodiscard]] NamedFunction find(uint64_t file_offset) const;
  // The same with the name, for which the file is read again.
  [[nodiscard]] NamedFunction find_name(uint64_t file_offset) const;

  [[nodiscard]] size_t size() const { return functions_.size(); }

 private:
  struct Function {
    uint64_t start;  // address in the file's own numbering
    uint32_t bytes;  // 0 not known
    uint32_t name;   // place in the table of names, or in `added_`
    bool operator<(const Function& other) const { return start < other.start; }
  };
  struct Segment {
    uint64_t file_offset, bytes, address;
  };
  struct Added {
    Function function;
    std::string name;
  };
  class File;

  void read_segments(const File& file);
  bool read_functions(const File& file);
  void read_table(const File& file, uint64_t table, uint64_t bytes,
                  const std::vector<bool>& is_code);
  [[nodiscard]] uint64_t address_of(uint64_t file_offset) const;
  [[nodiscard]] const Added* find_added(uint64_t address) const;
  [[nodiscard]] size_t place_of(uint64_t address) const;
  [[nodiscard]] std::string name_at(size_t place) const;

  std::string names_path_;     // the file that has the names
  uint64_t names_offset_ = 0;  // where they are in it
  uint64_t names_bytes_ = 0;
  std::vector<Segment> segments_;
  MappedVector<Function> functions_;  // by address
  std::vector<Added> added_;
};

// Returns the C++ name that a symbol stands for, cut to 400 bytes; other symbols unchanged.
std::string demangled(const std::string& symbol);

}  // namespace perfprobe
