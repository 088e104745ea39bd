// Loops over arrays. Each file that includes this compiles them for another instruction set, so the
// linker must not merge anything: everything has internal linkage, and no inline function of the
// standard library is used.
#pragma once

#include <cstdint>

#include "cpu/peak/element_math.h"
#include "cpu/peak/elements.h"

namespace perfprobe::peak {
namespace {

template <class Real, Real (*function)(Real)>
void of_one(const void* left, const void*, void* out, int64_t count) {
  const Real* __restrict from = static_cast<const Real*>(left);
  Real* __restrict to = static_cast<Real*>(out);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    to[i] = function(from[i]);
}

template <class Real>
void divided(const void* left, const void* right, void* out, int64_t count) {
  const Real* __restrict numerators = static_cast<const Real*>(left);
  const Real* __restrict denominators = static_cast<const Real*>(right);
  Real* __restrict to = static_cast<Real*>(out);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    to[i] = numerators[i] / denominators[i];
}

// clang-format off
#define PERFPROBE_ELEMENT_LOOPS {                                                       \
  {"exp", "f32", of_one<float, exp_of>}, {"exp", "f64", of_one<double, exp_of>},             \
  {"log", "f32", of_one<float, log_of>}, {"log", "f64", of_one<double, log_of>},             \
  {"tanh", "f32", of_one<float, tanh_of>}, {"tanh", "f64", of_one<double, tanh_of>},         \
  {"erf", "f32", of_one<float, erf_of>}, {"erf", "f64", of_one<double, erf_of>},             \
  {"sigmoid", "f32", of_one<float, sigmoid_of<float>>},                                      \
  {"sigmoid", "f64", of_one<double, sigmoid_of<double>>},                                    \
  {"sqrt", "f32", of_one<float, sqrt_of>}, {"sqrt", "f64", of_one<double, sqrt_of>},         \
  {"div", "f32", divided<float>}, {"div", "f64", divided<double>},                           \
}
// clang-format on

}  // namespace
}  // namespace perfprobe::peak
