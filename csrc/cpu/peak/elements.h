// Arithmetic of single elements as fast as this processor's vectors can do it: the ceilings of exp,
// log, tanh, erf, sigmoid, square root and division. No table, no branch, no library call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfprobe {

// One function of arrays, for one dtype and one instruction set. Functions of one number ignore
// `right`. Arrays need no alignment; `out` must not overlap the others.
struct ElementKernel {
  std::string name;          // "exp f32 avx512"
  const char* kind;          // "exp"
  const char* dtype;         // "f32" or "f64"
  const char* instructions;  // "avx512", "avx2" or "plain": the compiler's default
  // Returns why it cannot run here; empty if it can.
  std::string (*missing)();
  void (*run)(const void* left, const void* right, void* out, int64_t count);
};

// The kernels of the architecture this was compiled for, the fastest instructions first.
const std::vector<ElementKernel>& element_kernels();

// Copies `count` runs of `run_bytes` each to `out`, one after another. `places` holds the byte
// offsets of the runs in the table.
void gather_runs(const char* table, const int64_t* places, int64_t count, int64_t run_bytes,
                 char* out);

namespace peak {

struct ElementLoop {
  const char* kind;
  const char* dtype;
  void (*run)(const void* left, const void* right, void* out, int64_t count);
};

constexpr int kElementLoops = 14;
extern const ElementLoop kPlainLoops[kElementLoops];
#if defined(__x86_64__)
extern const ElementLoop kAvx2Loops[kElementLoops];
extern const ElementLoop kAvx512Loops[kElementLoops];
#endif

}  // namespace peak
}  // namespace perfprobe
