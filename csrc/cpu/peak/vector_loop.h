// The loop that all kernels of vector instructions share.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

// GCC unrolls these loops at -O2 only when it is told to; Clang has a spelling of its own.
#ifdef __clang__
#define PERFPROBE_UNROLL _Pragma("unroll")
#else
#define PERFPROBE_UNROLL _Pragma("GCC unroll 32")
#endif

// Defines `double function(int64_t rounds)`. A macro, as neither templates nor lambdas take over
// the target of the function they are used in.
//   attributes    of the function: the instruction set it may use
//   registers     constraint of inline assembly for the registers it may use
//   Vector, Lane  of a sum; count: sums, all in registers beside the two factors
//   zero, one     a Vector of zeros; a vector of ones, as the instruction takes its factors
//   step(sum, left, right)   the instruction
// The empty statements of assembly hide the values: equal sums would otherwise become one, and
// products of ones additions.
#define PERFPROBE_VECTOR_LOOP(function, attributes, registers, Vector, Lane, count, zero, one, \
                              step)                                                            \
  attributes double function(int64_t rounds) {                                                 \
    Vector sums[count];                                                                        \
    auto left = one;                                                                           \
    auto right = one;                                                                          \
    __asm__ volatile("" : "+" registers(left), "+" registers(right));                          \
    PERFPROBE_UNROLL                                                                           \
    for (int i = 0; i < (count); ++i) {                                                        \
      sums[i] = zero;                                                                          \
      __asm__ volatile("" : "+" registers(sums[i]));                                           \
    }                                                                                          \
    for (int64_t round = 0; round < rounds; ++round) {                                         \
      PERFPROBE_UNROLL                                                                         \
      for (int i = 0; i < (count); ++i)                                                        \
        sums[i] = step(sums[i], left, right);                                                  \
    }                                                                                          \
    double total = 0;                                                                          \
    PERFPROBE_UNROLL                                                                           \
    for (int i = 0; i < (count); ++i) {                                                        \
      Lane lanes[sizeof(Vector) / sizeof(Lane)];                                               \
      std::memcpy(lanes, &sums[i], sizeof lanes);                                              \
      for (const Lane lane : lanes)                                                            \
        total += static_cast<double>(lane);                                                    \
    }                                                                                          \
    return total;                                                                              \
  }
