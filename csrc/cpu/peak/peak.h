// The most that the instructions of this processor can multiply and add, from registers alone: the
// peak of the instruction set, which no matrix product exceeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfprobe {

// One instruction in a loop over sums that do not depend on each other, so many that its latency is
// hidden. Factors are ones and sums begin at zero: what the lanes hold at the end *is* how many
// products were added.
struct PeakKernel {
  const char* name;         // "f32 avx512"
  const char* dtype;        // of the factors: "f32", "f64", "bf16", "i8"
  const char* instruction;  // "vfmadd231ps zmm"
  int64_t products;         // added in a round: instructions x lanes x products in a lane
  // Why it cannot run here; empty when it can.
  std::string (*lack)();
  // Does so many rounds and returns the sum over all lanes: rounds x products, exact while a lane
  // of 32-bit floats stays below 2^24, for 8M rounds at least. (Integer lanes: 2^31; AMX: 256k
  // rounds.)
  double (*run)(int64_t rounds);
};

// Those of the architecture this was compiled for, whether they can run or not.
const std::vector<PeakKernel>& peak_kernels();

namespace peak {
std::vector<PeakKernel> vector_kernels();  // AVX2 and AVX-512, or NEON
std::vector<PeakKernel> tile_kernels();    // AMX
}  // namespace peak

}  // namespace perfprobe
