/* Plain loops that any C programmer might write, by formulas that perfprobe's own kernels do not
 * use; the compiler makes vectors of them. benchmarks/own_ceilings.py has its flags.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int64_t count_t;

void div_plain(const float* from, const float* more, float* to, count_t n) {
  for (count_t i = 0; i < n; ++i)
    to[i] = from[i] / more[i];
}

/* exp by Cephes' polynomial (expf.c), for results that are normal numbers. */
static inline float exp_by_cephes(float x) {
  x = x > 88.0f ? 88.0f : x;
  x = x < -87.0f ? -87.0f : x;
  float n = rintf(x * 1.44269504f);
  float r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float p = 1.9875691500E-4f;
  p = p * r + 1.3981999507E-3f;
  p = p * r + 8.3334519073E-3f;
  p = p * r + 4.1665795894E-2f;
  p = p * r + 1.6666665459E-1f;
  p = p * r + 5.0000001201E-1f;
  p = p * r * r + r + 1.0f;
  int32_t bits = ((int32_t)n + 127) << 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

void exp_formula(const float* from, const float* more, float* to, count_t n) {
  (void)more;
  for (count_t i = 0; i < n; ++i)
    to[i] = exp_by_cephes(from[i]);
}

/* tanh by exp: to 2e-7 of 1, not of small results. */
void tanh_formula(const float* from, const float* more, float* to, count_t n) {
  (void)more;
  for (count_t i = 0; i < n; ++i)
    to[i] = 1.0f - 2.0f / (exp_by_cephes(2.0f * from[i]) + 1.0f);
}

/* tanh by the ratio of polynomials that Eigen has (GenericPacketMathFunctions.h), to a few ulp. */
void tanh_ratio(const float* from, const float* more, float* to, count_t n) {
  (void)more;
  for (count_t i = 0; i < n; ++i) {
    float x = from[i];
    x = x > 7.90531110763549805f ? 7.90531110763549805f : x;
    x = x < -7.90531110763549805f ? -7.90531110763549805f : x;
    float z = x * x;
    float p = -2.76076847742355e-16f;
    p = p * z + 2.00018790482477e-13f;
    p = p * z + -8.60467152213735e-11f;
    p = p * z + 5.12229709037114e-08f;
    p = p * z + 1.48572235717979e-05f;
    p = p * z + 6.37261928875436e-04f;
    p = p * z + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * z + 1.18534705686654e-04f;
    q = q * z + 2.26843463243900e-03f;
    q = q * z + 4.89352518554385e-03f;
    to[i] = x * p / q;
  }
}

/* erf by the ratio of polynomials that XLA has (ErfImpl32 of its math.cc), to a few ulp. */
void erf_ratio(const float* from, const float* more, float* to, count_t n) {
  (void)more;
  for (count_t i = 0; i < n; ++i) {
    float x = from[i];
    x = x > 3.832506856900711f ? 3.832506856900711f : x;
    x = x < -3.832506856900711f ? -3.832506856900711f : x;
    float z = x * x;
    float p = 0.00022905065861350646f;
    p = p * z + 0.0034082910107109506f;
    p = p * z + 0.050955695062380861f;
    p = p * z + 0.18520832239976145f;
    p = p * z + 1.128379143519084f;
    float q = -1.1791602954361697e-7f;
    q = q * z + 0.000023547966471313185f;
    q = q * z + 0.0010179625278914885f;
    q = q * z + 0.014070470171167667f;
    q = q * z + 0.11098505178285362f;
    q = q * z + 0.49746925110067538f;
    q = q * z + 1.0f;
    to[i] = x * p / q;
  }
}
