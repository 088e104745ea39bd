#include "core/child_sheet.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "core/descriptor.h"

namespace perfprobe {
namespace {

constexpr size_t kSheetHeadBytes = 4096;
constexpr size_t kBytes =
    kSheetHeadBytes + ChildSheet::kRows * ChildSheet::kCells * sizeof(int64_t);
constexpr char kSheetMagic[16] = "PERFPROBE SUMS\n";
constexpr size_t kNameCells = 6;

// In the order of ChildCell.
constexpr std::array kNames{
    "processes",     "ended",   "process", "parent",      "kind",         "method",
    "detail",        "worker",  "workers", "forked_ns",   "started_ns",   "ready_ns",
    "last_ns",       "cpu_ns",  "batches", "waiting_ns",  "fetch_ns",     "collate_ns",
    "put_ns",        "send_ns", "queued",  "queued_most", "queued_looks", "private_first_bytes",
    "private_bytes", "name_0",  "name_1",  "name_2",      "name_3",       "name_4",
    "name_5"};
static_assert(kNames.size() == static_cast<size_t>(ChildCell::name_5) + 1);
static_assert(kNames.size() <= ChildSheet::kCells);

[[noreturn]] void fail(const char* what, int error) {
  throw std::system_error(error, std::generic_category(), what);
}

// Reserves the disk space at once: writing to a mapped page without space would kill the program
// with SIGBUS.
void* map_file(int file, bool is_new) {
  struct stat status{};
  const int refusal = is_new ? ::posix_fallocate(file, 0, static_cast<off_t>(kBytes)) : 0;
  if (refusal != 0)
    fail("posix_fallocate", refusal);
  if (::fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(kBytes))
    fail("a sheet that was cut short", EINVAL);
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    fail("mmap", errno);
  return memory;
}

}  // namespace

struct ChildSheet::Head {
  char magic[sizeof(kSheetMagic)];
  int64_t rows, cells;
  Cell taken;
  Cell detailed;
  char names[1024];  // of the cells, each followed by a blank
};

ChildSheet::ChildSheet(const std::string& path, Way way) {
  const bool is_new = way == Way::make;
  const int flags = O_RDWR | (is_new ? O_CREAT | O_EXCL : 0);
  const Descriptor file = Descriptor::open(path, flags, 0600);
  if (!file.is_open())
    fail("open", errno);
  try {
    head_ = static_cast<Head*>(map_file(file.number(), is_new));
  } catch (...) {
    if (is_new)
      ::unlink(path.c_str());
    throw;
  }
  if (!is_new && std::memcmp(head_->magic, kSheetMagic, sizeof(kSheetMagic)) != 0)
    fail("no sheet", EINVAL);
  if (!is_new)
    return;
  head_->rows = kRows;
  head_->cells = kCells;
  std::string names;
  for (const char* name : kNames)
    names.append(name).append(" ");
  std::memcpy(head_->names, names.data(), std::min(names.size(), sizeof(head_->names) - 1));
  std::memcpy(head_->magic, kSheetMagic, sizeof(kSheetMagic));
}

ChildSheet::Cell& ChildSheet::at(size_t row, ChildCell cell) const {
  static_assert(sizeof(Head) <= kSheetHeadBytes && Cell::is_always_lock_free);
  auto* cells = reinterpret_cast<Cell*>(reinterpret_cast<char*>(head_) + kSheetHeadBytes);
  return cells[std::min(row, kRows - 1) * kCells + static_cast<size_t>(cell)];
}

size_t ChildSheet::take() {
  const auto row = static_cast<size_t>(head_->taken.fetch_add(1));
  return std::min(row, kRows - 1);
}

bool ChildSheet::take_detail() {
  return head_->detailed.load() < kMostDetailed && head_->detailed.fetch_add(1) < kMostDetailed;
}

void ChildSheet::add(size_t row, ChildCell cell, int64_t value) {
  at(row, cell).fetch_add(value, std::memory_order_relaxed);
}

void ChildSheet::set(size_t row, ChildCell cell, int64_t value) {
  if (row < kRows - 1)
    at(row, cell).store(value, std::memory_order_relaxed);
}

void ChildSheet::raise(size_t row, ChildCell cell, int64_t value) {
  Cell& most = at(row, cell);
  int64_t known = most.load(std::memory_order_relaxed);
  while (known < value && !most.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

void ChildSheet::set_name(size_t row, std::string_view text) {
  std::array<int64_t, kNameCells> words{};
  std::memcpy(words.data(), text.data(), std::min(text.size(), sizeof(words)));
  for (size_t i = 0; i < words.size(); ++i) {
    const auto cell = static_cast<uint8_t>(ChildCell::name_0) + i;
    set(row, static_cast<ChildCell>(cell), words[i]);
  }
}

int64_t ChildSheet::get(size_t row, ChildCell cell) const {
  return at(row, cell).load(std::memory_order_relaxed);
}

int ChildSheet::find(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  return found == kNames.end() ? -1 : static_cast<int>(found - kNames.begin());
}

}  // namespace perfprobe
