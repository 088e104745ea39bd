// 128-bit hashes of identities (signatures, stacks).
//
// Two 64-bit lanes. Each is the sum of one multiply-and-fold (wyhash's "mum" step) for every pair
// of words, salted by its position, so the multiplications are independent of each other. With 128
// bits a false hit is practically impossible (65,536 entries: chance below 1e-28), so a hit needs
// no comparison of contents.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfprobe {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};

class Hasher {
 public:
  Hasher() = default;
  // Goes on from the result for this many pairs of words.
  Hasher(Hash128 so_far, size_t pairs)
      : place_(pairs * kStep), low_(so_far.low), high_(so_far.high) {}

  void add(uint64_t first, uint64_t second) {
    place_ += kStep;
    low_ += fold(first ^ place_ ^ 0xa0761d6478bd642fULL, second ^ 0xe7037ed1a0b428dbULL);
    high_ += fold(second ^ place_ ^ 0x8ebc6af09c88c6e3ULL, first ^ 0x589965cc75374cc3ULL);
  }

  [[nodiscard]] Hash128 result() const { return {low_, high_}; }

 private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15ULL;

  static uint64_t fold(uint64_t left, uint64_t right) {
    const auto product = static_cast<unsigned __int128>(left) * right;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  uint64_t place_ = 0;
  uint64_t low_ = 0x1d8e4e27c47d124fULL;
  uint64_t high_ = 0xeb44accab455d165ULL;
};

}  // namespace perfprobe
