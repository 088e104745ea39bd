// AVX2, AVX-512 with its bf16 and 8-bit integer extensions, and NEON.
#include "cpu/peak/peak.h"
#include "cpu/peak/vector_loop.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace perfprobe::peak {

namespace {

#if defined(__x86_64__)

// Of 16 registers two hold the factors and two stay free; of 32 registers six stay free.
constexpr int kYmmSums = 12;
constexpr int kZmmSums = 24;
// AVX-512 with VL, which only Knights Landing does not have. Without VL, Clang keeps the sums in
// memory, because it uses instructions that only reach 16 registers.

#define PERFPROBE_TARGET(isa) __attribute__((target(isa)))

#define STEP_PS_YMM(sum, left, right) _mm256_fmadd_ps(left, right, sum)
#define STEP_PD_YMM(sum, left, right) _mm256_fmadd_pd(left, right, sum)
#define STEP_PS_ZMM(sum, left, right) _mm512_fmadd_ps(left, right, sum)
#define STEP_PD_ZMM(sum, left, right) _mm512_fmadd_pd(left, right, sum)

PERFPROBE_VECTOR_LOOP(f32_avx2, PERFPROBE_TARGET("avx2,fma"), "x", __m256, float, kYmmSums,
                      _mm256_setzero_ps(), _mm256_set1_ps(1), STEP_PS_YMM)
PERFPROBE_VECTOR_LOOP(f64_avx2, PERFPROBE_TARGET("avx2,fma"), "x", __m256d, double, kYmmSums,
                      _mm256_setzero_pd(), _mm256_set1_pd(1), STEP_PD_YMM)
PERFPROBE_VECTOR_LOOP(f32_avx512, PERFPROBE_TARGET("avx512f,avx512vl"), "v", __m512, float,
                      kZmmSums, _mm512_setzero_ps(), _mm512_set1_ps(1), STEP_PS_ZMM)
PERFPROBE_VECTOR_LOOP(f64_avx512, PERFPROBE_TARGET("avx512f,avx512vl"), "v", __m512d, double,
                      kZmmSums, _mm512_setzero_pd(), _mm512_set1_pd(1), STEP_PD_ZMM)
PERFPROBE_VECTOR_LOOP(bf16_avx512, PERFPROBE_TARGET("avx512f,avx512bw,avx512vl,avx512bf16"), "v",
                      __m512, float, kZmmSums, _mm512_setzero_ps(),
                      _mm512_cvtne2ps_pbh(_mm512_set1_ps(1), _mm512_set1_ps(1)), _mm512_dpbf16_ps)
PERFPROBE_VECTOR_LOOP(i8_avx512, PERFPROBE_TARGET("avx512f,avx512bw,avx512vl,avx512vnni"), "v",
                      __m512i, int32_t, kZmmSums, _mm512_setzero_si512(), _mm512_set1_epi8(1),
                      _mm512_dpbusd_epi32)

// These builtins also check that the operating system saves the registers.
#define PERFPROBE_MISSING(function, feature)                                       \
  std::string function() {                                                         \
    __builtin_cpu_init();                                                          \
    return __builtin_cpu_supports(feature) ? "" : "the processor has no " feature; \
  }

PERFPROBE_MISSING(missing_fma, "fma")
PERFPROBE_MISSING(missing_avx512vl, "avx512vl")
PERFPROBE_MISSING(missing_avx512bf16, "avx512bf16")
PERFPROBE_MISSING(missing_avx512vnni, "avx512vnni")

#elif defined(__aarch64__)

constexpr int kNeonSums = 24;  // of 32 registers

std::string nothing_missing() {
  return "";
}

#define STEP_F32_NEON(sum, left, right) vfmaq_f32(sum, left, right)
#define STEP_F64_NEON(sum, left, right) vfmaq_f64(sum, left, right)

PERFPROBE_VECTOR_LOOP(f32_neon, , "w", float32x4_t, float, kNeonSums, vdupq_n_f32(0),
                      vdupq_n_f32(1), STEP_F32_NEON)
PERFPROBE_VECTOR_LOOP(f64_neon, , "w", float64x2_t, double, kNeonSums, vdupq_n_f64(0),
                      vdupq_n_f64(1), STEP_F64_NEON)

#endif

}  // namespace

std::vector<PeakKernel> vector_kernels() {
#if defined(__x86_64__)
  return {
      {"f32 avx2", "f32", "vfmadd231ps ymm", kYmmSums * 8, missing_fma, f32_avx2},
      {"f64 avx2", "f64", "vfmadd231pd ymm", kYmmSums * 4, missing_fma, f64_avx2},
      {"f32 avx512", "f32", "vfmadd231ps zmm", kZmmSums * 16, missing_avx512vl, f32_avx512},
      {"f64 avx512", "f64", "vfmadd231pd zmm", kZmmSums * 8, missing_avx512vl, f64_avx512},
      {"bf16 avx512", "bf16", "vdpbf16ps zmm", kZmmSums * 32, missing_avx512bf16, bf16_avx512},
      {"i8 avx512", "i8", "vpdpbusd zmm", kZmmSums * 64, missing_avx512vnni, i8_avx512},
  };
#elif defined(__aarch64__)
  return {
      {"f32 neon", "f32", "fmla v.4s", kNeonSums * 4, nothing_missing, f32_neon},
      {"f64 neon", "f64", "fmla v.2d", kNeonSums * 2, nothing_missing, f64_neon},
  };
#else
  return {};
#endif
}

}  // namespace perfprobe::peak
