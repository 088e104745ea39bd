// The sums of peak kernels: the compiler removed no instruction, and none counts twice.
#include "cpu/peak/peak.h"

#include <cstdio>
#include <set>

#include "check.h"

namespace {

void sums_have_as_many_products_as_requested() {
  int run = 0;
  for (const perfprobe::PeakKernel& kernel : perfprobe::peak_kernels()) {
    const std::string missing = kernel.missing();
    if (!missing.empty()) {
      std::fprintf(stderr, "%s is not run: %s\n", kernel.name, missing.c_str());
      continue;
    }
    for (const int64_t rounds : {0, 1, 3, 1000})
      CHECK_EQUAL(kernel.run(rounds), static_cast<double>(rounds * kernel.products));
    ++run;
  }
  std::fprintf(stderr, "%d kernels were run\n", run);
}

// By the widths in Intel's manual: lanes x products in a lane, times a number of instructions that
// hides latency.
void a_round_has_a_whole_number_of_instructions() {
  for (const perfprobe::PeakKernel& kernel : perfprobe::peak_kernels()) {
    const std::string name = kernel.name;
    const int64_t products = name == "f32 avx2"      ? 8
                             : name == "f64 avx2"    ? 4
                             : name == "f32 avx512"  ? 16
                             : name == "f64 avx512"  ? 8
                             : name == "bf16 avx512" ? 32
                             : name == "i8 avx512"   ? 64
                             : name == "bf16 amx"    ? 16 * 16 * 32
                             : name == "i8 amx"      ? 16 * 16 * 64
                             : name == "f32 neon"    ? 4
                                                     : 2;
    CHECK_EQUAL(kernel.products % products, 0);
    CHECK(kernel.products / products >= 4);
  }
}

void names_are_unique() {
  std::set<std::string> names;
  for (const perfprobe::PeakKernel& kernel : perfprobe::peak_kernels())
    names.insert(kernel.name);
  CHECK_EQUAL(names.size(), perfprobe::peak_kernels().size());
}

}  // namespace

int main() {
  sums_have_as_many_products_as_requested();
  a_round_has_a_whole_number_of_instructions();
  names_are_unique();
  return perfprobe::test::report();
}
