// An image of a process's memory with threads, frames and code objects of Python, in the layout of
// the Python that this is built for; and errors in it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/address_range.h"
#include "core/own_memory.h"
#include "python/foreign_frames.h"
#include "python/raw_frame.h"

namespace perfprobe::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1) {}

  uint64_t next() {  // splitmix64
    uint64_t mixed = state_ += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return mixed ^ mixed >> 31;
  }
  uint64_t up_to(uint64_t most) { return next() % (most + 1); }
  bool one_in(uint64_t count) { return next() % count == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[next() % values.size()];
  }

 private:
  uint64_t state_;
};

struct ImageThread {
  uintptr_t state = 0;
  std::vector<std::string> functions;  // names of its functions, innermost first
};

class MemoryImage final : public Memory {
 public:
  MemoryImage();

  // Builds another image at other addresses.
  void build(Random& random);
  // Replaces one word, mostly a pointer.
  void spoil(Random& random);
  // From now on something changes occasionally between two copies.
  void change_while_read(Random& random) { changes_ = &random; }

  using Memory::read;
  [[nodiscard]] bool read(std::span<const MemoryPiece> pieces) const override;

  [[nodiscard]] const std::vector<ImageThread>& threads() const { return threads_; }

 private:
  struct Region {
    AddressRange range;
    std::vector<std::byte> bytes;
    size_t used = 0;
  };
  struct Code {
    uintptr_t address;
    size_t frame_bytes;
    size_t code_bytes;
    std::string function;
  };

  void place_regions(Random& random);
  [[nodiscard]] std::byte* find(uintptr_t address, size_t bytes) const;
  uintptr_t take(Region& region, size_t bytes);
  // Writes a value and notes its words that are pointers, for `spoil`.
  template <class T>
  void put(uintptr_t address, const T& value) {
    if (std::byte* place = find(address, sizeof(value)))
      std::memcpy(place, &value, sizeof(value));
  }
  void note_pointer(uintptr_t address) { pointers_.push_back(address); }

  uintptr_t add_text(Random& random, const std::string& text);
  uintptr_t add_bytes(Random& random);
  void add_code(Random& random, size_t number);
  void add_thread(Random& random);
  uintptr_t add_chunk(size_t which, uintptr_t previous);
  void add_frame(Random& random, const Code& code, uintptr_t address, uintptr_t previous);
  bool is_shown(Random& random, uintptr_t address);
  uintptr_t add_entry(Random& random, uintptr_t previous);
  void add_state(uintptr_t address, uintptr_t top, const AddressRange& chunk, uintptr_t room);
  void link_threads();
  [[nodiscard]] uint64_t strange(Random& random) const;

  mutable std::vector<Region> regions_;
  std::vector<uintptr_t> pointers_;  // their addresses
  std::vector<Code> codes_;
  std::vector<ImageThread> threads_;
  size_t chunks_ = 0;
  Random* changes_ = nullptr;
};

// Replaces the interpreter: see memory_image.cpp.
void set_newest_thread(uintptr_t state);

}  // namespace perfprobe::test
