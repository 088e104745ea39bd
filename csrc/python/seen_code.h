// Code objects of running frames, identified by address. Each use checks them again: the object may
// have died, and another may have its address. Names are copied on first sight, so that they are
// known when the object is gone.
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
#include "python/next_instructions.h"

namespace perfprobe {

class SeenCode {
 public:
  struct Entry {
    explicit Entry(std::pmr::memory_resource* memory)
        : file(memory), function(memory), locations(memory), next_instructions(memory) {}

    int32_t first_line = 0;
    int32_t bytes = 0;        // of instructions
    int32_t frame_bytes = 0;  // of a frame that runs it, on the stack of frames
    std::pmr::string file;
    std::pmr::string function;
    std::pmr::vector<uint8_t> locations;
    Offsets next_instructions;
    // The instruction that was named last and its row of `frames`; kNone if there is none.
    int32_t named_instruction = 0;
    int32_t named_frame = kNone;

    [[nodiscard]] int32_t line_of(int32_t instruction) const;
    [[nodiscard]] bool asks_next(int32_t instruction) const;
    // Code made at run time. Such objects come and go at the same addresses with the same sizes.
    [[nodiscard]] bool is_fleeting() const;

   private:
    friend class SeenCode;
    void take(Entry&& fresh);
    // The fields of the object that never change, up to the first that does.
    static constexpr size_t kHeadBytes = offsetof(PyCodeObject, co_weakreflist);
    struct alignas(PyCodeObject) Head : std::array<std::byte, kHeadBytes> {};
    Head head{};
    bool is_known = false;
    uint64_t checked = 0;  // number of the last check that it passed
  };

  explicit SeenCode(const Memory& memory) : memory_(memory) {}

  // Whether all frames run living code objects at valid instructions and lie end to end. With gaps,
  // also if they do not lie end to end, as frames of torch.compile. All of them are then known.
  bool check(std::span<const ForeignFrame> frames, bool with_gaps);
  [[nodiscard]] Entry& entry(const void* code) { return entries_.at(code); }

 private:
  using Head = Entry::Head;
  static constexpr size_t kMost =
      16'384;  // beyond this, all entries are dropped and made again when needed

  bool check_heads();
  bool learn(const void* code, Entry& entry);

  const Memory& memory_;
  MappedPool pool_;
  std::pmr::unordered_map<const void*, Entry> entries_{pool_.resource()};
  uint64_t checks_ = 0;
  // Used during one check:
  MappedVector<std::pair<const void*, Entry*>> unchecked_;
  MappedVector<MemoryPiece> pieces_;
  MappedVector<Head> heads_;
  MappedVector<uint8_t> bytecode_;
};

}  // namespace perfprobe
