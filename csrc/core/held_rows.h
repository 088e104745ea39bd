// Rows of operators that wait for the end of their step, which decides whether they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/event_buffer.h"

namespace perfprobe {

// By the numbers of `Fate` in perfprobe/tables/kept.py.
enum class Fate : int8_t {
  ordinary = 0,  // of a step that is not kept
  slow = 1,      // of one that is
  apart = 2,     // between steps, and in evaluations
  beyond = 3,    // of a step larger than the buffer, given up before its end
  unkept = 4,    // of a slow step that is not kept, as too many were
};

// Rows of a chunk whose fate is known. `is_last`: the chunk is full, and free after them.
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
  // The fate of all rows since the last time. active: chunks that threads still fill.
  void decide(Fate fate, std::span<Chunk* const> active);
  // Gives up the full chunks of the step that runs.
  void give_up() {
    gave_up_ = gave_up_ || !full_.empty();
    decide(Fate::beyond, {});
  }
  // Whether rows were given up since it was asked last.
  bool take_gave_up();
  std::vector<HeldPart> take();
  // Full chunks whose rows are all decided.
  [[nodiscard]] size_t ready() const { return ready_; }

 private:
  void add(const HeldPart& part);
  // Rows of a chunk that are decided, as one is taken and put back under the same address.
  uint32_t& decided(Chunk* chunk) { return decided_[chunk]; }

  std::vector<Chunk*> full_;
  std::vector<HeldPart> parts_;
  std::unordered_map<Chunk*, uint32_t> decided_;
  size_t ready_ = 0;
  bool gave_up_ = false;
};

}  // namespace perfprobe
