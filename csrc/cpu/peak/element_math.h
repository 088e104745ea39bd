// Functions of one number without branches, so that the compiler can vectorize them.
//
// Largest error against the exact value, relative to it:
//           f32      f64      where
//   exp     1.2e-7   2.2e-16  results from the smallest normal number on
//   log     1.2e-7   2.2e-16  all positive numbers, denormal ones too
//   tanh    3.5e-7   5e-16    everywhere
//   erf     4.5e-7   1.2e-15  everywhere; the largest results are 1 and one unit in its last place
//   sigmoid 2e-7     4e-16    results from the smallest normal number on
// NaN gives NaN, infinities give their limits. Polynomials and ratios of polynomials were fitted
// for the smallest relative error, in forty digits, by weighted least squares (Lawson's method).
// Those of log come from fdlibm's e_log.c and Cephes' logf.c.
#pragma once

#include <cstdint>
#include <cstring>

namespace perfprobe::peak {
namespace {

template <class To, class From>
inline To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To same;
  std::memcpy(&same, &value, sizeof same);
  return same;
}

template <class Real>
inline Real clamped(Real x, Real low, Real high) {  // NaN stays NaN
  x = x > high ? high : x;
  return x < low ? low : x;
}

// a[0] + a[1] x + ...
template <class Real, int count>
inline Real polynomial(Real x, const Real (&a)[count]) {
  Real sum = a[count - 1];
#ifdef __clang__
#pragma unroll
#else
#pragma GCC unroll 16
#endif
  for (int i = count - 2; i >= 0; --i)
    sum = sum * x + a[i];
  return sum;
}

// Adding this to a number rounds it to an integer, which the lowest bits then hold.
constexpr float kRound32 = 0x1.8p23F;
constexpr double kRound64 = 0x1.8p52;

// 2^n, made by setting the exponent bits; n must be in the range of normal numbers.
inline float power_of_two(int32_t n) {
  return bits_of<float>((n + 127) << 23);
}

inline double power_of_two(int64_t n) {
  return bits_of<double>((n + 1023) << 52);
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
inline float exp_tail(float r) {
  constexpr float a[] = {0.49999999548445893F, 0.16666576963610146F, 0.041666855246524422F,
                         0.008363199902766874F, 0.001390121393243393F};
  return polynomial(r, a);
}

inline double exp_tail(double r) {
  constexpr double a[] = {0.5,
                          0.16666666666666644,
                          0.041666666666624003,
                          0.0083333333333564158,
                          0.001388888891729104,
                          0.00019841269784206401,
                          2.4801521158998137e-5,
                          2.755735580964747e-6,
                          2.762015956530811e-7,
                          2.5068133962641837e-8};
  return polynomial(r, a);
}

// ln(2) in two parts. The first has so few digits that its product with an integer is exact.
constexpr float kHigh32 = 0.693359375F, kLow32 = -2.12194440e-4F;
constexpr double kHigh64 = 6.93147180369123816490e-01, kLow64 = 1.90821492927058770002e-10;

// Multiplies in two steps, because one step cannot reach infinity or a denormal result.
inline float exp_of(float x) {
  x = clamped(x, -104.0F, 89.0F);
  const float rounded = x * 1.44269504F + kRound32;
  const int32_t n = bits_of<int32_t>(rounded) - bits_of<int32_t>(kRound32);
  const float whole = rounded - kRound32;
  const float r = (x - whole * kHigh32) - whole * kLow32;
  const float result = exp_tail(r) * (r * r) + r + 1.0F;
  const int32_t half = n >> 1;
  return result * power_of_two(half) * power_of_two(n - half);
}

inline double exp_of(double x) {
  x = clamped(x, -746.0, 710.0);
  const double rounded = x * 1.4426950408889634 + kRound64;
  const int64_t n = bits_of<int64_t>(rounded) - bits_of<int64_t>(kRound64);
  const double whole = rounded - kRound64;
  const double r = (x - whole * kHigh64) - whole * kLow64;
  const double result = exp_tail(r) * (r * r) + r + 1.0;
  // A shift of 32 bits: AVX2 has none of 64 bits that keeps the sign.
  const int64_t half = static_cast<int32_t>(n) >> 1;
  return result * power_of_two(half) * power_of_two(n - half);
}

// Sets the results for special arguments: NaN for x < 0, the limits for 0 and infinity.
template <class Real>
inline Real log_limits(Real x, Real found) {
  constexpr Real infinity = static_cast<Real>(__builtin_inf());
  found = x < infinity ? found : x;  // NaN stays NaN too
  found = x == 0 ? -infinity : found;
  return x < 0 ? static_cast<Real>(__builtin_nan("")) : found;
}

inline float log_of(float x) {
  constexpr float a[] = {3.3333331174E-1F,  -2.4999993993E-1F, 2.0000714765E-1F,
                         -1.6668057665E-1F, 1.4249322787E-1F,  -1.2420140846E-1F,
                         1.1676998740E-1F,  -1.1514610310E-1F, 7.0376836292E-2F};
  const bool small = x < 0x1p-126F;
  const int32_t bits = bits_of<int32_t>(small ? x * 0x1p23F : x);
  // Moves the mantissa to the range from sqrt(1/2) to sqrt(2).
  const int32_t n = (bits - 0x3F3504F3) >> 23;
  const float f = bits_of<float>(bits - (n << 23)) - 1.0F;
  const float whole = static_cast<float>(n) - (small ? 23.0F : 0.0F);
  const float square = f * f;
  const float tail = polynomial(f, a) * (f * square) + whole * kLow32;
  return log_limits(x, whole * kHigh32 + (f + (tail - 0.5F * square)));
}

inline double log_of(double x) {
  constexpr double a[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                          2.857142874366239149e-01, 2.222219843214978396e-01,
                          1.818357216161805012e-01, 1.531383769920937332e-01,
                          1.479819860511658591e-01};
  const bool small = x < 0x1p-1022;
  const int64_t bits = bits_of<int64_t>(small ? x * 0x1p54 : x);
  // 1075 is added to the exponent, so that its shift needs no sign.
  const int64_t above = bits - 0x3FE6A09E667F3BCD + (1075LL << 52);
  const uint64_t biased = static_cast<uint64_t>(above) >> 52;
  const int64_t n = static_cast<int64_t>(biased) - 1075;
  const double f =
      bits_of<double>(bits - static_cast<int64_t>(static_cast<uint64_t>(n) << 52)) - 1.0;
  // Converts to double by placing the bits beside those of 2^52.
  const double counted = bits_of<double>(biased | 0x4330000000000000U) - (0x1p52 + 1075.0);
  const double whole = counted - (small ? 54.0 : 0.0);
  const double s = f / (2.0 + f);
  const double square = s * s;
  const double half = 0.5 * f * f;
  const double tail = s * (half + square * polynomial(square, a)) + whole * kLow64;
  return log_limits(x, whole * kHigh64 - ((half - tail) - f));
}

inline float tanh_of(float x) {
  constexpr float p[] = {0.9999999932927873F,     0.13083222049924352F,    0.0031030726677374845F,
                         1.1144959598975097e-5F,  -2.0186561508975551e-8F, 5.2588842987805884e-11F,
                         -8.4385171006834528e-14F};
  constexpr float q[] = {1.0F, 0.46416549067245206F, 0.024491669153805765F,
                         0.00025448525558254638F};
  const float near = clamped(x, -9.02F, 9.02F);
  const float square = near * near;
  return near * polynomial(square, p) / polynomial(square, q);
}

// Uses e^2x - 1, which loses no digit near 0.
inline double tanh_of(double x) {
  const double twice = clamped(2.0 * x, -40.0, 40.0);
  const double rounded = twice * 1.4426950408889634 + kRound64;
  const int64_t n = bits_of<int64_t>(rounded) - bits_of<int64_t>(kRound64);
  const double whole = rounded - kRound64;
  const double r = (twice - whole * kHigh64) - whole * kLow64;
  const double scale = power_of_two(n);
  const double grown = scale * (exp_tail(r) * (r * r) + r) + (scale - 1.0);
  return grown / (grown + 2.0);
}

inline float erf_of(float x) {
  constexpr float p[] = {1.1283791359146088F, 0.1896816769190715F, 0.051493114527000138F,
                         0.0035793844011651765F, 0.00023031792890387062F};
  constexpr float q[] = {1.0F,
                         0.50143344797045607F,
                         0.112783792583647F,
                         0.014423148868576372F,
                         0.0010533446727295597F,
                         2.3156061574726869e-5F,
                         -1.1220835668322462e-7F};
  const float near = clamped(x, -3.92F, 3.92F);
  const float square = near * near;
  return near * polynomial(square, p) / polynomial(square, q);
}

inline double erf_of(double x) {
  constexpr double p[] = {1.1283791670955125,     0.21943577940944515,    0.065897817733992007,
                          0.0068311480995302888,  0.00084656636430142086, 5.5923908131786944e-5,
                          3.8063121856614354e-6,  1.6339519507122271e-7,  6.4144266743205713e-9,
                          1.5890247632643913e-10, 2.9137609838865305e-12, 1.6312760505343571e-14};
  constexpr double q[] = {1.0,
                          0.52780322945369229,
                          0.13433483022238279,
                          0.021861424982278476,
                          0.0025410224741830814,
                          0.00022291689172931128,
                          1.5179573700964707e-5,
                          8.1029720917123136e-7,
                          3.3660237124801568e-8,
                          1.0545381099205698e-9,
                          2.3061698097771956e-11,
                          2.7278719774947544e-13,
                          4.8735968735062322e-16,
                          -2.7817612925106651e-19};
  const double near = clamped(x, -5.93, 5.93);
  const double square = near * near;
  return near * polynomial(square, p) / polynomial(square, q);
}

template <class Real>
inline Real sigmoid_of(Real x) {
  return 1 / (1 + exp_of(-x));
}

inline float sqrt_of(float x) {
  return __builtin_sqrtf(x);
}

inline double sqrt_of(double x) {
  return __builtin_sqrt(x);
}

}  // namespace
}  // namespace perfprobe::peak
