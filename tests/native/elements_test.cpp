// Loops over arrays of any length, compared with the C library, and gathers of runs of any length.
#include "cpu/peak/elements.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "check.h"

namespace {

double exact(const std::string& kind, double x) {
  return kind == "exp"       ? std::exp(x)
         : kind == "log"     ? std::log(x)
         : kind == "tanh"    ? std::tanh(x)
         : kind == "erf"     ? std::erf(x)
         : kind == "sigmoid" ? 1 / (1 + std::exp(-x))
         : kind == "sqrt"    ? std::sqrt(x)
                             : x / (x + 1);
}

// The element after the last one must not change.
template <class Real>
void results_equal_those_of_the_library(const perfprobe::ElementKernel& kernel, double error) {
  for (const int64_t count : {0, 1, 3, 8, 15, 16, 17, 33, 1001}) {
    std::vector<Real> left;
    std::vector<Real> right;
    std::vector<Real> out(static_cast<size_t>(count) + 1, Real(-7));
    for (int64_t i = 0; i < count; ++i) {
      left.push_back(Real(0.25) + static_cast<Real>(i) / 64);
      right.push_back(left.back() + 1);
    }
    kernel.run(left.data(), right.data(), out.data(), count);
    for (size_t i = 0; i < left.size(); ++i) {
      const double expected = exact(kernel.kind, static_cast<double>(left[i]));
      CHECK(std::fabs(static_cast<double>(out[i]) - expected) <= error * std::fabs(expected));
    }
    CHECK_EQUAL(out.back(), Real(-7));
  }
}

void every_kernel_of_this_processor_is_tested() {
  int run = 0;
  for (const perfprobe::ElementKernel& kernel : perfprobe::element_kernels()) {
    const std::string missing = kernel.missing();
    if (!missing.empty()) {
      std::fprintf(stderr, "%s is not run: %s\n", kernel.name.c_str(), missing.c_str());
      continue;
    }
    ++run;
    if (std::string(kernel.dtype) == "f32")
      results_equal_those_of_the_library<float>(kernel, 6e-7);
    else
      results_equal_those_of_the_library<double>(kernel, 2e-15);
  }
  std::fprintf(stderr, "%d kernels were run\n", run);
}

void gathered_runs_are_contiguous() {
  std::vector<char> table(4096);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<char>(i * 7);
  const std::vector<int64_t> places = {0, 64, 63, 1000, 3000, 5, 5, 2048, 1, 900};
  for (const int64_t run : {1, 2, 3, 4, 8, 12, 64, 700}) {
    std::vector<char> out(places.size() * static_cast<size_t>(run) + 1, 'x');
    perfprobe::gather_runs(table.data(), places.data(), static_cast<int64_t>(places.size()), run,
                           out.data());
    for (size_t i = 0; i + 1 < out.size(); ++i) {
      const size_t at = i / static_cast<size_t>(run);
      CHECK_EQUAL(out[i], table[static_cast<size_t>(places[at]) + i % static_cast<size_t>(run)]);
    }
    CHECK_EQUAL(out.back(), 'x');
  }
}

}  // namespace

int main() {
  every_kernel_of_this_processor_is_tested();
  gathered_runs_are_contiguous();
  return perfprobe::test::report();
}
