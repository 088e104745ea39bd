// Code objects of running frames, known by address and checked at every sight: the object may have
// died and another one have taken its place. What it is called is copied at first sight, so that it
// can be named when it is gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <Python.h>

#include "core/mapped_memory.h"
#include "core/own_memory.h"
#include "core/records.h"
#include "python/foreign_frames.h"

namespace perfprobe {

class SeenCode {
 public:
  struct Entry {
    explicit Entry(std::pmr::memory_resource* memory)
        : file(memory), function(memory), locations(memory) {}

    int32_t first_line = 0;
    int32_t bytes = 0;        // of instructions
    int32_t frame_bytes = 0;  // of a frame that runs it, on the stack of frames
    std::pmr::string file;
    std::pmr::string function;
    std::pmr::vector<uint8_t> locations;
    // The instruction last named, and the row of `frames` it has; kNone when there is none.
    int32_t named_instruction = 0;
    int32_t named_frame = kNone;

    [[nodiscard]] int32_t line_of(int32_t instruction) const;
    // Code made at run time, which comes and goes at the same addresses with the same sizes.
    [[nodiscard]] bool is_fleeting() const;

   private:
    friend class SeenCode;
    // All fields of the object that never change, up to the first that does.
    static constexpr size_t kHeadBytes = offsetof(PyCodeObject, co_weakreflist);
    struct alignas(PyCodeObject) Head : std::array<std::byte, kHeadBytes> {};
    Head head{};
    bool is_known = false;
    uint64_t checked = 0;  // the check it last stood
  };

  explicit SeenCode(const Memory& memory) : memory_(memory) {}

  // Whether these frames are all of code objects that live now, at instructions of theirs, and lie
  // end to end; with gaps, also where they do not, as torch.compile makes them. All of them are
  // then known.
  bool check(std::span<const ForeignFrame> frames, bool with_gaps);
  [[nodiscard]] Entry& entry(const void* code) { return entries_.at(code); }

 private:
  using Head = Entry::Head;
  static constexpr size_t kMost = 16'384;  // and all is forgotten, to be seen again

  bool check_heads();
  bool learn(const void* code, Entry& entry);
  bool read_text(const PyObject* text, std::pmr::string& into) const;
  bool read_bytes(const PyObject* bytes, std::pmr::vector<uint8_t>& into) const;

  const Memory& memory_;
  MappedPool pool_;
  std::pmr::unordered_map<const void*, Entry> entries_{pool_.resource()};
  uint64_t checks_ = 0;
  // Of one check:
  MappedVector<std::pair<const void*, Entry*>> unchecked_;
  MappedVector<MemoryPiece> pieces_;
  MappedVector<Head> heads_;
};

}  // namespace perfprobe
