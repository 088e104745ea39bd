// The most multiply-adds that this processor's instructions can do from registers: the peak of the
// instruction set. No matrix product exceeds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfprobe {

// One instruction in a loop over independent sums, enough of them to hide its latency. All factors
// are 1 and sums begin at 0, so the final sum is the number of products that were added.
struct PeakKernel {
  const char* name;         // "f32 avx512"
  const char* dtype;        // of the factors: "f32", "f64", "bf16", "i8"
  const char* instruction;  // "vfmadd231ps zmm"
  int64_t products;         // products per round: instructions x lanes x products in a lane
  // Returns why it cannot run here; empty if it can.
  std::string (*missing)();
  // Runs this many rounds and returns the sum over all lanes: rounds x products. The sum is exact
  // while a lane of 32-bit floats stays below 2^24, which is at least 8M rounds. (Integer lanes:
  // 2^31; AMX: 256k rounds.)
  double (*run)(int64_t rounds);
};

// All kernels of the architecture this was compiled for, also those that cannot run here.
const std::vector<PeakKernel>& peak_kernels();

namespace peak {
std::vector<PeakKernel> vector_kernels();  // AVX2 and AVX-512, or NEON
std::vector<PeakKernel> tile_kernels();    // AMX
}  // namespace peak

}  // namespace perfprobe
