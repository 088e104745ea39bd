// The functions of an ELF file and of this process, compared with dladdr and with functions of this
// file.
#include "cpu/perf/code_map.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <unistd.h>

#include "check.h"

using perfprobe::ElfFunctions;
using perfprobe::NamedFunction;

namespace {

__attribute__((noinline)) int a_function_of_this_file(int value) {
  return value * 3 + 1;
}

struct Mapping {
  uint64_t start = 0, file_offset = 0;
  std::string path;
};

// Where the code at this address is mapped, read independently of CodeMap.
Mapping mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0, end = 0, offset = 0;
    char rights[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &start, &end, rights, &offset,
                    &path_at) < 4)
      continue;
    const auto at = reinterpret_cast<uint64_t>(address);
    if (at >= start && at < end)
      return {start, offset, line.substr(static_cast<size_t>(path_at))};
  }
  return {};
}

NamedFunction found(const void* address, size_t inside = 0) {
  const Mapping mapping = mapping_of(address);
  const ElfFunctions functions(mapping.path);
  return functions.find_name(reinterpret_cast<uint64_t>(address) + inside - mapping.start +
                             mapping.file_offset);
}

void a_static_function_has_its_cpp_name() {
  const auto* address = reinterpret_cast<const void*>(&a_function_of_this_file);
  const NamedFunction function = found(address, 2);
  CHECK(function.name.find("(anonymous namespace)::a_function_of_this_file(int)") == 0);
  CHECK(function.is_exact);
}

// Exported functions of the C library, whose other symbols may be stripped.
void exported_functions_are_those_of_dladdr() {
  for (const char* name : {"malloc", "qsort", "fopen", "pthread_create", "getenv"}) {
    const void* address = ::dlsym(RTLD_DEFAULT, name);
    Dl_info info{};
    CHECK(::dladdr(address, &info) != 0);
    const NamedFunction function = found(address, 1);
    CHECK(function.is_exact);
    const Dl_info known = info;
    const void* other = ::dlsym(RTLD_DEFAULT, function.name.c_str());
    if (other != known.dli_saddr)
      CHECK_EQUAL(function.name, known.dli_sname);
  }
}

void a_file_that_is_no_library_has_no_functions() {
  CHECK_EQUAL(ElfFunctions("/proc/self/status").size(), 0u);
  CHECK_EQUAL(ElfFunctions("/no/such/file").size(), 0u);
  const ElfFunctions none("/dev/null");
  CHECK_EQUAL(none.find_name(1234).name, "");
  CHECK(!none.find(0).is_exact);
}

// A file cut at any place is read without a fault.
void a_damaged_file_is_harmless() {
  const std::string own = "/proc/self/exe";
  std::ifstream file(own, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  char path[] = "/tmp/perfprobe-elf-XXXXXX";
  ::close(::mkstemp(path));
  for (size_t size = 0; size < bytes.size(); size = size * 5 / 4 + 61) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(size));
    const ElfFunctions functions{std::string(path)};
    static_cast<void>(functions.find_name(size));
  }
  uint32_t random = 1;
  for (int i = 0; i < 200; ++i) {
    std::string changed = bytes;
    for (int j = 0; j < 8; ++j) {
      random = random * 1664525 + 1013904223;
      changed[random % 64 + (j % 2 == 0 ? 0 : changed.size() - 4096)] =
          static_cast<char>(random >> 24);
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(changed.data(), static_cast<std::streamsize>(changed.size()));
    const ElfFunctions functions{std::string(path)};
    static_cast<void>(functions.find_name(random % changed.size()));
  }
  ::unlink(path);
}

// The C library without its file of debug symbols, as most machines have it: another build id.
void a_stripped_library_names_what_is_around() {
  const void* address = ::dlsym(RTLD_DEFAULT, "malloc");
  const Mapping mapping = mapping_of(address);
  std::ifstream file(mapping.path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t note = bytes.find(std::string("\3\0\0\0GNU\0", 8));  // of type NT_GNU_BUILD_ID
  if (note == std::string::npos || bytes.find(".symtab") != std::string::npos)
    return;  // it is not stripped
  bytes[note + 8] = static_cast<char>(~bytes[note + 8]);
  char path[] = "/tmp/perfprobe-libc-XXXXXX";
  ::close(::mkstemp(path));
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const ElfFunctions functions{std::string(path)};
  const uint64_t offset = reinterpret_cast<uint64_t>(address) - mapping.start + mapping.file_offset;
  CHECK_EQUAL(functions.find_name(offset + 8).name, "malloc");
  const NamedFunction before = functions.find_name(offset - 64);  // in tcache_init or _int_malloc
  CHECK(!before.is_exact);
  CHECK(before.name.ends_with("..malloc"));
  ::unlink(path);
}

// Code without a name is named by the functions before and after it.
void added_names_reach_to_the_next_one() {
  ElfFunctions functions("/dev/null");
  functions.add(1000, 4096, "first");
  functions.add(3000, 4096, "second");
  functions.add(2000, 4096, "between");
  CHECK_EQUAL(functions.find_name(1999).name, "first");
  CHECK_EQUAL(functions.find_name(2000).name, "between");
  CHECK_EQUAL(functions.find_name(2999).name, "between");
  CHECK_EQUAL(functions.find_name(7095).name, "second");
  CHECK_EQUAL(functions.find_name(7096).name, "");
  CHECK_EQUAL(functions.find_name(999).name, "");
}

void names_are_shown_as_written_in_cpp() {
  CHECK_EQUAL(perfprobe::demangled("_ZN2at4_ops3add4callEv"), "at::_ops::add::call()");
  CHECK_EQUAL(perfprobe::demangled("malloc"), "malloc");
  CHECK(perfprobe::demangled("_ZN2at5checkEv._omp_fn.0").starts_with("at::check()"));
  CHECK_EQUAL(perfprobe::demangled("_Znot a name"), "_Znot a name");
  CHECK_EQUAL(perfprobe::demangled("caf\xc3\xa9"), "caf??");
}

}  // namespace

int main() {
  CHECK_EQUAL(a_function_of_this_file(1), 4);
  a_static_function_has_its_cpp_name();
  exported_functions_are_those_of_dladdr();
  a_file_that_is_no_library_has_no_functions();
  a_damaged_file_is_harmless();
  a_stripped_library_names_what_is_around();
  added_names_reach_to_the_next_one();
  names_are_shown_as_written_in_cpp();
  return perfprobe::test::report();
}
