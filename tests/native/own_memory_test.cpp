// Copies of memory that may be unmapped, in both ways that the kernel offers.
#include "core/own_memory.h"

#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "check.h"

using perfprobe::MemoryPiece;
using perfprobe::OwnMemory;

namespace {

void many_pieces_are_copied_in_order(const OwnMemory& memory) {
  constexpr size_t kPieces = 1000;
  std::vector<int> values(kPieces);
  std::vector<int> copies(kPieces, -1);
  std::vector<MemoryPiece> pieces;
  for (size_t i = 0; i < kPieces; ++i) {
    values[i] = static_cast<int>(i);
    pieces.push_back({&values[kPieces - 1 - i], &copies[i], sizeof(int)});
  }
  CHECK(memory.read(pieces));
  CHECK_EQUAL(copies.front(), static_cast<int>(kPieces) - 1);
  CHECK_EQUAL(copies.back(), 0);
  CHECK(memory.read({}));
}

void unmapped_memory_is_refused(const OwnMemory& memory) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(pages, 7, 2 * page);
  munmap(pages + page, page);
  char copy = 0;
  CHECK(memory.read(pages + page - 1, copy));
  CHECK_EQUAL(static_cast<int>(copy), 7);
  CHECK(!memory.read(pages + page, copy));
  std::vector<char> across(page);
  const MemoryPiece piece{pages + page / 2, across.data(), page};
  CHECK(!memory.read({&piece, 1}));
  munmap(pages, page);
  CHECK(!memory.read(nullptr, copy));
  CHECK(!memory.read(reinterpret_cast<const void*>(~uintptr_t{0}), copy));
}

// A text across a page boundary, one that ends at the last readable byte, and one without an end.
void texts_are_read_to_their_end(const OwnMemory& memory) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(
      mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(pages, 'a', 2 * page);
  munmap(pages + 2 * page, page);
  std::string text;
  CHECK(!memory.read_text(pages, 10 * page, text));
  CHECK(memory.read_text(pages, 1000, text));
  CHECK_EQUAL(text, std::string(1000, 'a'));
  pages[2 * page - 1] = '\0';
  CHECK(memory.read_text(pages + 1, 10 * page, text));
  CHECK_EQUAL(text, std::string(2 * page - 2, 'a'));
  CHECK(memory.read_text(pages + 2 * page - 1, 10, text));
  CHECK_EQUAL(text, "");
  CHECK(!memory.read_text(nullptr, 10, text));
  CHECK(!memory.read_text(reinterpret_cast<const char*>(~uintptr_t{0}), 10, text));
  munmap(pages, 2 * page);
}

}  // namespace

int main() {
  for (const auto way : {OwnMemory::Way::system_call, OwnMemory::Way::file}) {
    const OwnMemory memory(way);
    many_pieces_are_copied_in_order(memory);
    unmapped_memory_is_refused(memory);
    texts_are_read_to_their_end(memory);
  }
  const OwnMemory memory;
  many_pieces_are_copied_in_order(memory);
  return perfprobe::test::report();
}
