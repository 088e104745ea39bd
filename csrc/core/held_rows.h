// Rows of operators that are held back until their step ends; only then is known whether to write
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/event_buffer.h"

namespace perfprobe {

// What becomes of a row. Has the numbers of `Fate` in perfprobe/tables/kept.py.
enum class Fate : int8_t {
  ordinary = 0,  // its step is not slow: added up
  slow = 1,      // its step is slow: written
  apart = 2,     // between steps or in an evaluation: added up
  beyond = 3,    // the step did not fit in the buffer: added up before it ended
  unkept = 4,    // its step is slow, but too many slow steps were written before: added up
};

// Rows of a chunk whose fate is known. `is_last`: the last ones of a full chunk, which is then
// free.
struct HeldPart {
  Chunk* chunk;
  uint32_t from;
  uint32_t to;
  Fate fate;
  bool is_last;
};

// Not thread-safe: the owner locks.
class HeldRows {
 public:
  void hold(Chunk* full) { full_.push_back(full); }
  // Sets the fate of all rows added since the last call. active: chunks that threads still fill.
  void decide(Fate fate, std::span<Chunk* const> active);
  // Gives up the full chunks of the running step: their rows are only added up.
  void give_up() {
    gave_up_ = gave_up_ || !full_.empty();
    decide(Fate::beyond, {});
  }
  // Returns whether rows were given up since the last call.
  bool take_gave_up();
  std::vector<HeldPart> take();
  // Number of full chunks whose rows all have a fate.
  [[nodiscard]] size_t ready() const { return ready_; }

 private:
  void add(const HeldPart& part);
  // How many rows of a chunk have a fate. By address: a chunk is reused at the same address.
  uint32_t& decided(Chunk* chunk) { return decided_[chunk]; }

  std::vector<Chunk*> full_;
  std::vector<HeldPart> parts_;
  std::unordered_map<Chunk*, uint32_t> decided_;
  size_t ready_ = 0;
  bool gave_up_ = false;
};

}  // namespace perfprobe
