// Reads the Python frames of other threads while they run, without the GIL.
//
// The data may be half-built, popped or freed meanwhile. So everything is copied through Memory and
// not trusted until SeenCode has checked the code objects.
#pragma once

#include <cstdint>
#include <vector>

#include <Python.h>

#include "core/address_range.h"
#include "core/mapped_memory.h"
#include "core/own_memory.h"
#include "python/raw_frame.h"

// Before 3.11 a thread state does not have the kernel's id of the thread.
#if PY_VERSION_HEX >= 0x030B0000 && defined(PERFPROBE_FAST_FRAMES)
#define PERFPROBE_FOREIGN_FRAMES 1
#endif

namespace perfprobe {

struct ForeignFrame {
  const void* code;     // PyCodeObject
  const void* globals;  // of its module: distinguishes frames whose code had the same address
  int32_t instruction;  // byte offset, negative before the first
  // Distance to the next inner frame on the frame stack, 0 if there is none. Frames lie end to end,
  // so if this is not the frame's size, the frame was popped meanwhile.
  int32_t room_bytes;
  bool operator==(const ForeignFrame&) const = default;
};

struct SeenThread {
  const PyThreadState* address;
  PyThreadState state;  // a copy
};

// The threads of the main interpreter that have a Python state, newest first. Returns false if the
// list changed during all attempts to read it.
bool read_threads(const Memory& memory, std::vector<SeenThread>& threads);

// The interpreter of these threads. Must be called first while Python runs. The object is static
// and stays when Python has ended.
PyInterpreterState* main_interpreter();

// Returns its newest thread. It changes when a thread is created.
inline const PyThreadState* newest_thread() {
  return PyInterpreterState_ThreadHead(main_interpreter());  // only one load
}

class ForeignFrames {
 public:
  static constexpr size_t kMost = 16'384;  // deeper stacks lose their outermost frames

  explicit ForeignFrames(const Memory& memory);

  // Reads the thread's frames into `frames()`, innermost first; none for a thread without Python
  // frames. Returns false if they changed meanwhile. Updates `thread.state` in both cases.
  bool read(SeenThread& thread);

  [[nodiscard]] const MappedVector<ForeignFrame>& frames() const { return frames_; }
  [[nodiscard]] bool was_cut() const { return was_cut_; }

 private:
  struct Block {  // a copy of memory with frames
    AddressRange range;
    size_t place;  // in copies_
  };

  bool read_top(SeenThread& thread, uintptr_t& top);
  bool read_frame(uintptr_t address, RawFrame& frame, uintptr_t& block);
  bool read_outer_chunk();
  std::byte* add_block(const AddressRange& range);

  const Memory& memory_;
  MappedVector<ForeignFrame> frames_;
  bool was_cut_ = false;
  bool reads_narrow_ = false;
  MappedVector<Block> blocks_;
  MappedVector<std::byte> copies_;
  size_t used_ = 0;            // of copies_
  uintptr_t outer_chunk_ = 0;  // the next chunk of the frame stack that is not copied yet
};

}  // namespace perfprobe
