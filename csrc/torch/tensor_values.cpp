#include "torch/tensor_values.h"

#include <algorithm>
#include <optional>

#include <c10/core/DispatchKeySet.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>

#include "torch/sample_digest.h"
#include "torch/signature.h"
#include "torch/tensor_facts.h"
#include "torch/tensor_sample.h"

namespace perfprobe {
namespace {

constexpr size_t kMostTensors = 64;  // tensors of a signature that are read

// Plain CPU tensors have no other dispatch key. This excludes subclasses, fake tensors, wrappers of
// vmap and functionalization, and tensors that are lazily conjugated, negated or zero.
bool is_plain(const c10::TensorImpl& tensor) {
  static const c10::DispatchKeySet plain =
      c10::DispatchKeySet({c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU,
                           c10::DispatchKey::AutocastCPU, c10::DispatchKey::ADInplaceOrView});
  const c10::DispatchKeySet keys = tensor.key_set();
  return keys.has(c10::DispatchKey::CPU) && (keys.raw_repr() & ~plain.raw_repr()) == 0 &&
         !tensor.has_symbolic_sizes_strides() && tensor.has_storage();
}

// Also reads a shared (copy-on-write) storage, which stays shared. Returns nullptr if torch
// refuses.
const char* data_of(const c10::StorageImpl& storage) {
  try {
    return static_cast<const char*>(storage.data());
  } catch (const c10::Error&) {
    return nullptr;
  }
}

// Whether all elements, from the first to the one farthest after it, are within `bytes`.
bool is_inside(c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t offset, size_t itemsize,
               int64_t bytes) {
  int64_t last = offset;
  bool overflows = offset < 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach = 0;
    overflows |= sizes[i] <= 0 || strides[i] < 0 ||
                 __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                 __builtin_add_overflow(last, reach, &last);
  }
  return !overflows && last < bytes / static_cast<int64_t>(itemsize);
}

std::string tensor_values(const c10::TensorImpl& tensor) {
  if (!is_plain(tensor) || tensor.layout() != c10::kStrided)
    return "null";
  const c10::StorageImpl& storage = *tensor.unsafe_storage().unsafeGetStorageImpl();
  const std::optional<int64_t> bytes = storage.sym_nbytes().maybe_as_int();
  const c10::IntArrayRef sizes = tensor.sizes_default();
  const c10::IntArrayRef strides = tensor.strides_default();
  const size_t itemsize = tensor.dtype().itemsize();
  const int64_t offset = tensor.storage_offset();
  if (!bytes || storage.device_type() != c10::DeviceType::CPU || itemsize == 0 ||
      !is_inside(sizes, strides, offset, itemsize, *bytes))
    return "null";
  const char* data = data_of(storage);
  if (data == nullptr)
    return "null";
  const c10::ScalarType dtype = tensor.dtype().toScalarType();
  const bool may_index = c10::isIntegralType(dtype, /*includeBool=*/false);
  const Sample sample(data + offset * static_cast<int64_t>(itemsize), sizes, strides,
                      static_cast<uint64_t>(tensor.numel()), may_index ? kIndexSample : kSample);
  return digest_of(sample, dtype);
}

class InputValues {
 public:
  void add(const c10::IValue& value, int nesting = 0) {
    if (value.isTensor()) {
      add_tensor(*value.toTensor().unsafeGetTensorImpl());
    } else if (value.isList() && nesting < kDeepestList) {
      const c10::ArrayRef<c10::IValue> elements = value.toListRef();
      for (const c10::IValue& element : elements.slice(0, std::min(elements.size(), kLongestList)))
        add(element, nesting + 1);
    }
  }

  [[nodiscard]] std::string text() const { return any_ ? "[" + text_ + "]" : ""; }

 private:
  void add_tensor(const c10::TensorImpl& tensor) {
    const bool is_undefined =
        &tensor == static_cast<const c10::TensorImpl*>(c10::UndefinedTensorImpl::singleton());
    if (is_undefined)
      return;
    const std::string values = tensors_ < kMostTensors ? tensor_values(tensor) : "null";
    text_ += (tensors_ == 0 ? "" : ",") + values;
    any_ |= values != "null";
    ++tensors_;
  }

  std::string text_;
  size_t tensors_ = 0;
  bool any_ = false;
};

}  // namespace

std::string describe_values(c10::ArrayRef<const c10::IValue> inputs) {
  InputValues values;
  for (const c10::IValue& input : inputs)
    values.add(input);
  return values.text();
}

}  // namespace perfprobe
