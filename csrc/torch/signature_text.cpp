#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include "torch/signature.h"
#include "torch/tensor_facts.h"

namespace perfprobe {
namespace {

struct ShortName {
  c10::ScalarType dtype;
  const char* text;
};

// Dtypes with long torch names. All others are spelled as torch does, in lower case.
constexpr std::array kShortNames = {
    ShortName{c10::ScalarType::Byte, "u8"},
    ShortName{c10::ScalarType::Char, "i8"},
    ShortName{c10::ScalarType::Short, "i16"},
    ShortName{c10::ScalarType::Int, "i32"},
    ShortName{c10::ScalarType::Long, "i64"},
    ShortName{c10::ScalarType::Half, "f16"},
    ShortName{c10::ScalarType::Float, "f32"},
    ShortName{c10::ScalarType::Double, "f64"},
    ShortName{c10::ScalarType::BFloat16, "bf16"},
    ShortName{c10::ScalarType::ComplexHalf, "c32"},
    ShortName{c10::ScalarType::ComplexFloat, "c64"},
    ShortName{c10::ScalarType::ComplexDouble, "c128"},
    ShortName{c10::ScalarType::UInt16, "u16"},
    ShortName{c10::ScalarType::UInt32, "u32"},
    ShortName{c10::ScalarType::UInt64, "u64"},
};

std::string dtype_text(c10::ScalarType dtype) {
  for (const ShortName& known : kShortNames) {
    if (known.dtype == dtype)
      return known.text;
  }
  std::string text = c10::toString(dtype);
  for (char& letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

std::string joined(c10::IntArrayRef values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(values[i]);
  return text;
}

std::string tensor_text(const TensorFacts& facts) {
  if ((facts.marks & kUndefined) != 0)
    return "-";
  std::string text = dtype_text(facts.dtype);
  if ((facts.marks & kSymbolic) != 0) {
    text += "[symbolic]";
  } else if ((facts.marks & kNested) != 0) {
    text += "[nested]";
  } else {
    text += "[" + joined(facts.sizes) + "]";
    if (!facts.strides.empty())
      text += "{" + joined(facts.strides) + "}";
  }
  if (facts.layout != c10::kStrided) {
    std::string layout;
    switch (facts.layout) {
      case c10::kSparse:
        layout = "sparse_coo";
        break;
      case c10::kSparseCsr:
        layout = "sparse_csr";
        break;
      case c10::kSparseCsc:
        layout = "sparse_csc";
        break;
      case c10::kSparseBsr:
        layout = "sparse_bsr";
        break;
      case c10::kSparseBsc:
        layout = "sparse_bsc";
        break;
      case c10::kMkldnn:
        layout = "mkldnn";
        break;
      default:
        layout = facts.layout == c10::kJagged ? "jagged" : "other_layout";
    }
    text += ":" + layout;
  }
  if ((facts.marks & kSubclass) != 0)
    text += ":subclass";
  if (facts.device_type != c10::DeviceType::CPU) {
    text += "@" + c10::Device(facts.device_type, facts.device_index).str();
  }
  return text;
}

std::string float_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  // A float must look like one, because bench rebuilds the call from this.
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char letter : value.substr(0, 64)) {
    if (letter == '"' || letter == '\\')
      text += '\\';
    text += letter;
  }
  return text + "\"";
}

// Makes the text of all inputs in one pass, with floats by type or by value.
class InputText {
 public:
  InputText(Integers integers, bool float_values)
      : integers_(integers), float_values_(float_values) {}

  void add(const c10::IValue& value, const c10::Argument* argument) {
    const bool is_tensor = value.isTensor() || holds_tensors(value);
    const bool is_tensor_argument = argument == nullptr || type_holds_tensor(*argument);
    if (value.isNone() && !is_tensor_argument)
      return;  // an optional argument that was not passed
    std::string item = value.isNone() ? "-" : value_text(value, argument, 0);
    if (argument != nullptr && !is_tensor && !value.isNone())
      item = argument->name() + "=" + item;
    text_ += (text_.empty() ? "" : " ") + item;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] uint64_t grad_mask() const { return grad_mask_; }

 private:
  static bool type_holds_tensor(const c10::Argument& argument) {
    return argument.type()->str().find("Tensor") != std::string::npos;
  }

  static bool holds_tensors(const c10::IValue& value) {
    if (!value.isList())
      return false;
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isTensor())
        return true;
    }
    return value.isTensorList();
  }

  std::string value_text(const c10::IValue& value, const c10::Argument* argument, int nesting) {
    if (value.isTensor())
      return tensor(value);
    if (value.isInt())
      return integer(value.toInt(), argument);
    if (value.isBool())
      return value.toBool() ? "True" : "False";
    if (value.isDouble())
      return float_values_ ? float_text(value.toDouble()) : "float";
    if (value.isNone())
      return "-";
    if (value.isList() && nesting < kDeepestList)
      return list(value.toListRef(), nesting);
    if (value.isString())
      return in_quotes(value.toStringRef());
    if (value.isDevice())
      return value.toDevice().str();
    return value.tagKind();
  }

  std::string tensor(const c10::IValue& value) {
    const TensorFacts facts = read_facts(*value.toTensor().unsafeGetTensorImpl());
    if ((facts.marks & kRequiresGrad) != 0 && tensors_ < 64)
      grad_mask_ |= uint64_t{1} << tensors_;
    ++tensors_;
    return tensor_text(facts);
  }

  std::string integer(int64_t value, const c10::Argument* argument) const {
    const bool is_dtype =
        argument != nullptr && argument->real_type()->str().find("ScalarType") != std::string::npos;
    if (is_dtype && value >= 0 && value < static_cast<int64_t>(c10::ScalarType::Undefined)) {
      return dtype_text(static_cast<c10::ScalarType>(value));
    }
    return integers_ == Integers::by_value ? std::to_string(value) : "int";
  }

  std::string list(c10::ArrayRef<c10::IValue> values, int nesting) {
    std::string text = "(";
    for (size_t i = 0; i < values.size() && i < kLongestList; ++i) {
      text += (i == 0 ? "" : ",") + value_text(values[i], nullptr, nesting + 1);
    }
    return text + (values.size() > kLongestList ? ",...)" : ")");
  }

  Integers integers_;
  bool float_values_;
  std::string text_;
  uint64_t grad_mask_ = 0;
  size_t tensors_ = 0;
};

InputText all_inputs(c10::ArrayRef<const c10::IValue> inputs,
                     const std::optional<c10::FunctionSchema>& schema, Integers integers,
                     bool float_values) {
  InputText text(integers, float_values);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool named = schema.has_value() && i < schema->arguments().size();
    text.add(inputs[i], named ? &schema->arguments()[i] : nullptr);
  }
  return text;
}

}  // namespace

SignatureDescription describe_inputs(const at::RecordFunction& function,
                                     c10::ArrayRef<const c10::IValue> inputs, Integers integers) {
  const std::optional<c10::FunctionSchema> schema = function.operator_schema();
  const InputText text = all_inputs(inputs, schema, integers, false);
  const InputText example = all_inputs(inputs, schema, integers, true);
  return {text.text(), example.text(), text.grad_mask()};
}

}  // namespace perfprobe
