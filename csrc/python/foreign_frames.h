// Reads the Python frames of other threads while they run, without the GIL.
//
// What is read may be half-built, popped or freed by then: everything is copied through Memory
// and is no more than a claim until SeenCode has checked that its code objects are what they say.
#pragma once

#include <cstdint>
#include <vector>

#include <Python.h>

#include "core/address_range.h"
#include "core/mapped_memory.h"
#include "core/own_memory.h"

// The layouts that have been verified. Before 3.11 a thread's state does not hold the kernel's
// number for it.
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#define PERFPROBE_FOREIGN_FRAMES 1
#endif

namespace perfprobe {

struct ForeignFrame {
  const void* code;     // PyCodeObject
  const void* globals;  // of its module: tells frames of code objects apart that took turns
  int32_t instruction;  // byte offset, negative before the first
  // From this frame to the next inner one on the thread's stack of frames, 0 where there is none:
  // frames lie end to end, so another distance than its size is that of a frame popped meanwhile.
  int32_t room_bytes;
  bool operator==(const ForeignFrame&) const = default;
};

struct SeenThread {
  const PyThreadState* address;
  PyThreadState state;  // a copy
};

// The threads of the main interpreter that have Python state, newest first. False when the list
// changed while it was read, as often as it was tried.
bool read_threads(const Memory& memory, std::vector<SeenThread>& threads);

// The interpreter whose threads these are: to be asked first while Python runs. It is a static
// object, which stays when Python has ended.
PyInterpreterState* main_interpreter();

// The newest of its threads, which a new one takes the place of.
inline const PyThreadState* newest_thread() {
  return PyInterpreterState_ThreadHead(main_interpreter());  // no more than a load
}

class ForeignFrames {
 public:
  static constexpr size_t kMost = 16'384;  // deeper stacks are cut at their outer end

  explicit ForeignFrames(const Memory& memory);

  // The thread's frames, innermost first, into `frames()`; none for a thread without Python frames.
  // False when they changed meanwhile. `thread.state` is brought up to date either way.
  bool read(SeenThread& thread);

  [[nodiscard]] const MappedVector<ForeignFrame>& frames() const { return frames_; }
  [[nodiscard]] bool was_cut() const { return was_cut_; }

 private:
  struct Block {  // a copy of memory that frames lie in
    AddressRange range;
    size_t place;  // in copies_
  };

  bool read_top(SeenThread& thread, uintptr_t& top);
  template <class Frame>
  bool read_frame(uintptr_t address, Frame& frame, uintptr_t& block);
  bool read_outer_chunk();
  std::byte* add_block(const AddressRange& range);

  const Memory& memory_;
  MappedVector<ForeignFrame> frames_;
  bool was_cut_ = false;
  bool reads_narrow_ = false;
  MappedVector<Block> blocks_;
  MappedVector<std::byte> copies_;
  size_t used_ = 0;            // of copies_
  uintptr_t outer_chunk_ = 0;  // the next piece of the thread's stack of frames, not copied yet
};

}  // namespace perfprobe
