#include "core/own_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

#include "core/descriptor.h"

namespace perfprobe {
namespace {

constexpr size_t kBatch = 64;  // the kernel takes 1,024; more than this is rare

bool read_batch(pid_t process, std::span<const MemoryPiece> pieces) {
  std::array<iovec, kBatch> local;
  std::array<iovec, kBatch> remote;
  size_t bytes = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    local[i] = {pieces[i].into, pieces[i].bytes};
    remote[i] = {const_cast<void*>(pieces[i].from), pieces[i].bytes};
    bytes += pieces[i].bytes;
  }
  const ssize_t got =
      ::process_vm_readv(process, local.data(), pieces.size(), remote.data(), pieces.size(), 0);
  return got >= 0 && static_cast<size_t>(got) == bytes;
}

bool read_from_file(std::span<const MemoryPiece> pieces) {
  const Descriptor file = Descriptor::open("/proc/self/mem", O_RDONLY);
  return std::ranges::all_of(pieces, [&file](const MemoryPiece& piece) {
    const auto place = static_cast<off_t>(reinterpret_cast<uintptr_t>(piece.from));
    const ssize_t got = place < 0 ? -1 : ::pread(file.number(), piece.into, piece.bytes, place);
    return got >= 0 && static_cast<size_t>(got) == piece.bytes;
  });
}

}  // namespace

OwnMemory::OwnMemory(Way way) : process_(::getpid()), way_(way) {}

OwnMemory::OwnMemory() : OwnMemory(Way::system_call) {
  const int probe = 1;
  int copy = 0;
  if (read(&probe, copy))
    return;
  const int refusal = errno;
  way_ = Way::file;
  if (!read(&probe, copy))
    throw std::system_error(refusal, std::generic_category(), "process_vm_readv");
}

bool OwnMemory::read(std::span<const MemoryPiece> pieces) const {
  if (way_ == Way::file)
    return read_from_file(pieces);
  for (size_t start = 0; start < pieces.size(); start += kBatch) {
    if (!read_batch(process_, pieces.subspan(start, std::min(kBatch, pieces.size() - start))))
      return false;
  }
  return true;
}

// No read crosses a page boundary before the text is known to continue there: the next page may not
// exist.
bool Memory::read_text(const char* from, size_t most_bytes, std::string& into) const {
  constexpr uintptr_t kPage = 4096;  // or a multiple of it
  constexpr size_t kPiece = 512;     // more than most texts have
  into.clear();
  while (into.size() < most_bytes) {
    const auto place = reinterpret_cast<uintptr_t>(from) + into.size();
    const size_t before = into.size();
    const size_t bytes = std::min({kPage - place % kPage, kPiece, most_bytes - before});
    into.resize(before + bytes);
    const MemoryPiece piece{reinterpret_cast<const void*>(place), into.data() + before, bytes};
    if (!read({&piece, 1}))
      return false;
    const size_t end = into.find('\0', before);
    if (end != std::string::npos) {
      into.resize(end);
      return true;
    }
  }
  return true;
}

}  // namespace perfprobe
