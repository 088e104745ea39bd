// The loop shared by all kernels with vector instructions.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

// GCC unrolls these loops at -O2 only if told to; Clang has its own spelling for that.
#ifdef __clang__
#define PERFPROBE_UNROLL _Pragma("unroll")
#else
#define PERFPROBE_UNROLL _Pragma("GCC unroll 32")
#endif

// Defines `double function(int64_t rounds)`. A macro, because templates and lambdas do not inherit
// the instruction set of the function they are used in.
//   attributes    of the function: the instruction set it may use
//   registers     constraint of inline assembly for the registers it may use
//   Vector, Lane  of a sum; count: number of sums, all in registers with the two factors
//   zero, one     a Vector of zeros; a vector of ones in the format of the instruction's factors
//   step(sum, left, right)   the instruction
// The empty assembly statements hide the values from the compiler, which would otherwise merge
// equal sums and replace products with 1 by additions.
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
