#include "torch/sample_digest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace perfprobe {
namespace {

// Sorting takes longest, so at most this many floats of a sample are sorted, evenly spread.
constexpr uint64_t kFloatsSorted = 64;
constexpr uint64_t kIntegersSorted = 256;
constexpr size_t kQuantiles =
    9;  // lowest, highest, and the values that divide the rest into equal parts

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4);
  return {text.data(), end.ptr};
}

std::string part_text(uint64_t some, uint64_t all) {
  return number_text(static_cast<double>(some) / static_cast<double>(all));
}

// The order of neighbours: of those that differ, the share of rising pairs; 0.5 if none differs.
struct Order {
  uint64_t rises = 0, falls = 0;

  template <class Value>
  void add(Value value, Value behind) {
    rises += value < behind;
    falls += behind < value;
  }
  [[nodiscard]] std::string text() const {
    return rises + falls == 0 ? "0.5" : part_text(rises, rises + falls);
  }
};

template <class Value>
double as_number(Value value) {
  return static_cast<double>(value);
}
double as_number(c10::Half value) {
  return static_cast<double>(static_cast<float>(value));
}
double as_number(c10::BFloat16 value) {
  return static_cast<double>(static_cast<float>(value));
}

// Quantiles of sorted values, at most as many as there are values.
std::string quantiles_text(const double* first, const double* end) {
  const auto last = end - first - 1;
  std::string text;
  for (size_t i = 0; last >= 0 && i < kQuantiles; ++i) {
    const auto place = last * static_cast<ptrdiff_t>(i) / static_cast<ptrdiff_t>(kQuantiles - 1);
    text += (i == 0 ? "" : ",") + number_text(first[place]);
  }
  return "[" + text + "]";
}

// Works on the bits: with flush-to-zero, a comparison would treat a denormal as zero.
template <class Float, class Bits, int kFractionBits>
std::string float_text(const Sample& sample) {
  constexpr Bits kFraction = static_cast<Bits>((uint64_t{1} << kFractionBits) - 1);
  constexpr Bits kSign = static_cast<Bits>(uint64_t{1} << (8 * sizeof(Bits) - 1));
  constexpr Bits kExponent = static_cast<Bits>(~(kSign | kFraction));
  uint64_t zeros = 0, negatives = 0, denormals = 0, nonfinite = 0, changes = 0;
  Order order;
  std::array<double, kSample> ordinary{};
  double* end = ordinary.data();
  const uint64_t each = sample.count() < kSample ? 1 : kSample / kFloatsSorted;
  for (uint64_t i = 0; i < sample.count(); ++i) {
    const Bits bits = sample.at<Bits>(i);
    const bool is_zero = (bits & ~kSign) == 0;
    const bool is_nan = (bits & kExponent) == kExponent && (bits & kFraction) != 0;
    zeros += is_zero;
    changes += is_zero != ((sample.behind<Bits>(i) & ~kSign) == 0);
    negatives += (bits & kSign) != 0 && !is_zero && !is_nan;
    denormals += (bits & kExponent) == 0 && !is_zero;
    nonfinite += (bits & kExponent) == kExponent;
    const double value = as_number(sample.at<Float>(i));
    order.add(value, as_number(sample.behind<Float>(i)));
    if (i % each == 0 && (bits & kExponent) != 0 && (bits & kExponent) != kExponent)
      *end++ = value;
  }
  std::sort(ordinary.data(), end);
  const uint64_t all = sample.count();
  return "{\"zeros\":" + part_text(zeros, all) + ",\"negatives\":" + part_text(negatives, all) +
         ",\"denormals\":" + part_text(denormals, all) +
         ",\"nonfinite\":" + part_text(nonfinite, all) + ",\"changes\":" + part_text(changes, all) +
         ",\"ascending\":" + order.text() +
         ",\"quantiles\":" + quantiles_text(ordinary.data(), end) +
         ",\"sample\":" + std::to_string(all) + "}";
}

// The median of the distances between elements that differ; 0 if none differs.
std::string median_text(std::array<double, kIntegersSorted>& steps, size_t count) {
  if (count == 0)
    return "0";
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(count / 2);
  std::nth_element(steps.begin(), middle, steps.begin() + static_cast<ptrdiff_t>(count));
  return number_text(*middle);
}

// The digest of a sample.
template <class Integer>
struct SampledIntegers {
  explicit SampledIntegers(const Sample& sample) : count(sample.count()) {
    for (uint64_t i = 0; i < count; ++i) {
      at[i] = sample.at<Integer>(i);
      behind[i] = sample.behind<Integer>(i);
    }
  }
  uint64_t count;
  std::array<Integer, kIndexSample> at, behind;
};

// The order of neighbours, and of elements of the first half compared with some of the second, at
// varying distances. Rows that are each sorted rise only in the first; sorted indices that were
// shuffled within pages rise only in the second.
template <class Integer>
std::string index_order_text(const SampledIntegers<Integer>& values, uint64_t each) {
  std::array<double, kIntegersSorted> steps{}, far_steps{};
  size_t count = 0, far_count = 0;
  Order near, far;
  constexpr uint64_t kStride =
      197;  // a prime, so that most halves are visited completely, each element once
  const uint64_t half = values.count / 2;
  for (uint64_t i = 0; i < values.count; ++i) {
    const auto value = values.at[i], behind = values.behind[i];
    near.add(value, behind);
    if (i % each == 0 && value != behind)
      steps[count++] = std::abs(as_number(value) - as_number(behind));
    const auto farther = values.at[i < half ? half + i * kStride % half : i];
    far.add(value, farther);
    if (i % each == 0 && value != farther)
      far_steps[far_count++] = std::abs(as_number(value) - as_number(farther));
  }
  return "\"ascending\":" + near.text() + ",\"trend\":" + far.text() +
         ",\"step\":" + median_text(steps, count) + ",\"far\":" + median_text(far_steps, far_count);
}

template <class Integer>
std::string integer_text(const Sample& sample) {
  const SampledIntegers<Integer> all(sample);
  const uint64_t each = (all.count + kIntegersSorted - 1) / kIntegersSorted;
  const auto [lowest, highest] =
      std::minmax_element(all.at.begin(), all.at.begin() + static_cast<ptrdiff_t>(all.count));
  std::array<Integer, kIntegersSorted> values{};
  auto end = values.begin();
  for (uint64_t i = 0; i < all.count; i += each)
    *end++ = all.at[i];
  std::sort(values.begin(), end);
  std::array<double, kIntegersSorted> numbers{};
  const auto sorted = std::transform(values.begin(), end, numbers.begin(), as_number<Integer>);
  const auto looked_at = static_cast<uint64_t>(end - values.begin());
  const auto distinct = static_cast<uint64_t>(std::unique(values.begin(), end) - values.begin());
  return "{\"lowest\":" + std::to_string(*lowest) + ",\"highest\":" + std::to_string(*highest) +
         ",\"distinct\":" + part_text(distinct, looked_at) + "," +
         index_order_text<Integer>(all, each) + ",\"quantiles\":" +
         quantiles_text(numbers.data(), numbers.data() + (sorted - numbers.begin())) +
         ",\"sample\":" + std::to_string(sample.count()) + "}";
}

std::string bool_text(const Sample& sample) {
  uint64_t trues = 0, changes = 0;
  for (uint64_t i = 0; i < sample.count(); ++i) {
    const bool is_true = sample.at<uint8_t>(i) != 0;
    trues += is_true;
    changes += is_true != (sample.behind<uint8_t>(i) != 0);
  }
  return "{\"true\":" + part_text(trues, sample.count()) +
         ",\"changes\":" + part_text(changes, sample.count()) +
         ",\"sample\":" + std::to_string(sample.count()) + "}";
}

}  // namespace

std::string digest_of(const Sample& sample, c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Float:
      return float_text<float, uint32_t, 23>(sample);
    case c10::ScalarType::Double:
      return float_text<double, uint64_t, 52>(sample);
    case c10::ScalarType::Half:
      return float_text<c10::Half, uint16_t, 10>(sample);
    case c10::ScalarType::BFloat16:
      return float_text<c10::BFloat16, uint16_t, 7>(sample);
    case c10::ScalarType::Byte:
      return integer_text<uint8_t>(sample);
    case c10::ScalarType::Char:
      return integer_text<int8_t>(sample);
    case c10::ScalarType::Short:
      return integer_text<int16_t>(sample);
    case c10::ScalarType::Int:
      return integer_text<int32_t>(sample);
    case c10::ScalarType::Long:
      return integer_text<int64_t>(sample);
    case c10::ScalarType::Bool:
      return bool_text(sample);
    default:
      return "null";
  }
}

}  // namespace perfprobe
