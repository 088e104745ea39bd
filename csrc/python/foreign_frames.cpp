#include "python/foreign_frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>

#ifdef PERFPROBE_FOREIGN_FRAMES

namespace perfprobe {
namespace {

constexpr int kMostWalks = 3;
constexpr size_t kMostThreads = 16'384;

// Walks the list once and checks the links in both directions: a state that was freed meanwhile is
// no longer linked.
bool walk_threads(const Memory& memory, std::vector<SeenThread>& threads) {
  threads.clear();
  const PyThreadState* previous = nullptr;
  const PyThreadState* next = newest_thread();
  while (next != nullptr && threads.size() < kMostThreads) {
    SeenThread& seen = threads.emplace_back();
    seen.address = next;
    if (!memory.read(next, seen.state) || seen.state.interp != main_interpreter() ||
        seen.state.prev != previous)
      return false;
    previous = next;
    next = seen.state.next;
  }
  return true;
}

// Frames and pointers to them are aligned to words and lie above the first page.
bool is_plausible(uintptr_t address) {
  constexpr uintptr_t kFirstPage = 4096;
  return address >= kFirstPage && address % alignof(void*) == 0;
}

// The address of a frame on the thread's frame stack, and the block it is in.
struct StackPlace {
  uintptr_t address = 0;
  uintptr_t block = 0;  // 0: not on the stack
};

// The outermost frame of a thread is on its frame stack. A frame without an outer one that is not
// on it belongs to a generator that was not resumed yet or was just suspended.
bool is_orphan(const RawFrame& frame, const StackPlace& place) {
  return outer_of(&frame) == nullptr && has_code(&frame) && place.block == 0;
}

// Returns 0 if one of them is not on the frame stack, or they are in different blocks.
int32_t room_between(const StackPlace& outer, const StackPlace& inner) {
  if (outer.block == 0 || outer.block != inner.block)
    return 0;
  return static_cast<int32_t>(inner.address - outer.address);
}

}  // namespace

PyInterpreterState* main_interpreter() {
  static PyInterpreterState* const interpreter = PyInterpreterState_Main();
  return interpreter;
}

bool read_threads(const Memory& memory, std::vector<SeenThread>& threads) {
  for (int i = 0; i < kMostWalks; ++i) {
    if (walk_threads(memory, threads))
      return true;
  }
  return false;
}

ForeignFrames::ForeignFrames(const Memory& memory) : memory_(memory) {}

bool ForeignFrames::read(SeenThread& thread) {
  constexpr size_t kMostSteps = 4 * kMost;  // including frames without code
  frames_.clear();
  blocks_.clear();
  used_ = 0;
  outer_chunk_ = 0;
  was_cut_ = false;
  uintptr_t address = 0;
  StackPlace inner;
  if (!read_top(thread, address)) {
    static_cast<void>(memory_.read(thread.address, thread.state));
    return false;
  }
  for (size_t step = 0; address != 0; ++step) {
    was_cut_ = frames_.size() == kMost;
    if (was_cut_)
      return true;
    RawFrame frame;
    StackPlace place{address, 0};
    if (step == kMostSteps || !is_plausible(address) || !read_frame(address, frame, place.block) ||
        is_orphan(frame, place))
      return false;
    if (has_code(&frame)) {
      const int64_t offset = offset_of(&frame);
      if (offset != static_cast<int32_t>(offset))
        return false;
      frames_.push_back({code_of(&frame), globals_of(&frame), static_cast<int32_t>(offset),
                         room_between(place, inner)});
    }
    if (place.block != 0)
      inner = place;
    address = address_of(outer_of(&frame));
  }
  return true;
}

// Reads from the copies if possible. Otherwise reads the frame alone: a generator's frame is in the
// generator, not on the frame stack.
bool ForeignFrames::read_frame(uintptr_t address, RawFrame& frame, uintptr_t& block_start) {
  for (;;) {
    for (const Block& block :
         blocks_ | std::views::reverse) {  // outwards, the order in which frames are read
      if (!block.range.holds(address, sizeof(frame)))
        continue;
      const size_t place = block.place + (address - block.range.start);
      std::memcpy(static_cast<void*>(&frame), &copies_[place], sizeof(frame));
      block_start = block.range.start;
      return true;
    }
    if (outer_chunk_ == 0 || !read_outer_chunk())
      return memory_.read(reinterpret_cast<const void*>(address), frame);
  }
}

std::byte* ForeignFrames::add_block(const AddressRange& range) {
  const size_t place = used_;
  if (place + range.bytes > copies_.size())
    copies_.resize(2 * (place + range.bytes));
  blocks_.push_back({range, place});
  used_ += range.bytes;
  return &copies_[place];
}

// The smallest size that CPython allocates. Smaller chunks that form a circle would take for ever
// to copy.
constexpr size_t kLeastChunkBytes = size_t{16} << 10;
constexpr size_t kMostChunkBytes = size_t{1} << 20;  // a larger size must be wrong
constexpr size_t kMostCopiedBytes = size_t{32}
                                    << 20;  // of one stack; frames beyond are read one by one
constexpr size_t kRoomBytes = 2048;         // the thread runs on during the look

// The used part of the newest chunk, and some room, because the thread runs on meanwhile. Empty if
// the values cannot be right.
AddressRange part_in_use(const PyThreadState& state) {
  const uintptr_t start = address_of(state.datastack_chunk);
  const uintptr_t end = std::min(above(address_of(state.datastack_top), kRoomBytes),
                                 address_of(state.datastack_limit));
  const size_t bytes = end > start ? end - start : 0;
  const bool is_sane =
      is_plausible(start) && bytes > sizeof(_PyStackChunk) && bytes <= kMostChunkBytes;
  return is_sane ? AddressRange{start, bytes} : AddressRange{};
}

#if PY_VERSION_HEX < 0x030D0000

// The thread state points to a place on the thread's C stack, and that points to the innermost
// frame. Both change with every call that goes through C. So the surroundings of the previous place
// are copied together with the state: the pointers then belong to nearly the same moment, however
// busy the thread is.
class TopPlace {
 public:
  TopPlace(const PyThreadState& before, bool is_wide) {
    const uintptr_t place = address_of(before.cframe);
    range_ = is_wide ? AddressRange{below(place, kReachBytes), copy_.size()}
                     : AddressRange{place, sizeof(_PyCFrame)};
  }

  MemoryPiece piece() {
    return {reinterpret_cast<const void*>(range_.start), copy_.data(), range_.bytes};
  }

  // Returns false if the place is too far from the previous one.
  [[nodiscard]] bool find_top(const PyThreadState& now, uintptr_t& top) const {
    const uintptr_t address = address_of(now.cframe);
    _PyCFrame place;
    if (!range_.holds(address, sizeof(place)))
      return false;
    std::memcpy(&place, &copy_[address - range_.start], sizeof(place));
    top = address_of(place.current_frame);
    return true;
  }

 private:
  static constexpr size_t kReachBytes = 2048;
  AddressRange range_;
  std::array<std::byte, 2 * kReachBytes> copy_;
};

#endif

// Reads state, pointer to the innermost frame and the newest chunk of the frame stack, in this
// order and with one system call, so that the frames are hardly newer than the pointer.
bool ForeignFrames::read_top(SeenThread& thread, uintptr_t& top) {
  const PyThreadState before = thread.state;
  MemoryPiece pieces[3] = {{thread.address, &thread.state, sizeof(thread.state)}};
  size_t count = 1;
#if PY_VERSION_HEX < 0x030D0000
  TopPlace place(before, !reads_narrow_);
  pieces[count++] = place.piece();
#endif
  if (const AddressRange part = part_in_use(before); part.bytes > 0)
    pieces[count++] = {before.datastack_chunk, add_block(part), part.bytes};
  const bool was_read = memory_.read({pieces, count});
  reads_narrow_ = !was_read && !reads_narrow_;  // the memory around the place may not be mapped
  if (!was_read || thread.state.id != before.id)
    return false;
#if PY_VERSION_HEX >= 0x030D0000
  top = address_of(top_frame(&thread.state));
#else
  if (!place.find_top(thread.state, top))
    return false;
#endif
  if (!blocks_.empty()) {
    _PyStackChunk chunk;
    std::memcpy(&chunk, &copies_[blocks_[0].place], sizeof(chunk));
    outer_chunk_ = address_of(chunk.previous);
  }
  return true;
}

// A deep stack is in several chunks.
bool ForeignFrames::read_outer_chunk() {
  const auto* address = reinterpret_cast<const void*>(outer_chunk_);
  const uintptr_t start = outer_chunk_;
  outer_chunk_ = 0;
  _PyStackChunk chunk;
  if (!is_plausible(start) || !memory_.read(address, chunk) || chunk.size < kLeastChunkBytes ||
      chunk.size > kMostChunkBytes || used_ + chunk.size > kMostCopiedBytes)
    return false;
  const MemoryPiece piece{address, add_block({start, chunk.size}), chunk.size};
  if (!memory_.read({&piece, 1})) {
    blocks_.pop_back();
    used_ -= chunk.size;
    return false;
  }
  outer_chunk_ = address_of(chunk.previous);
  return true;
}

}  // namespace perfprobe

#endif
