// The properties of a tensor that hash and text use.
#pragma once

#include <cstdint>

#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>

namespace perfprobe {

enum TensorMark : uint8_t {
  kUndefined = 1,
  kNested = 2,
  kSymbolic = 4,  // sizes are symbols (torch.compile, torch.export)
  kSubclass = 8,  // a Python subclass with its own dispatch
  kRequiresGrad = 16,
};

struct TensorFacts {
  c10::IntArrayRef sizes;
  c10::IntArrayRef strides;  // empty if they follow from the sizes, or if there are none
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  c10::DeviceType device_type = c10::DeviceType::CPU;
  c10::DeviceIndex device_index = -1;
  c10::Layout layout = c10::kStrided;
  uint8_t marks = 0;

  // Everything except sizes and strides in one word.
  [[nodiscard]] uint64_t packed() const {
    return static_cast<uint64_t>(dtype) |
           static_cast<uint64_t>(static_cast<uint8_t>(device_type)) << 8 |
           static_cast<uint64_t>(static_cast<uint8_t>(device_index)) << 16 |
           static_cast<uint64_t>(static_cast<uint8_t>(layout)) << 24 |
           static_cast<uint64_t>(marks) << 32;
  }
};

// A subclass may compute sizes, device and layout in Python, and nested tensors have no sizes. For
// these only stored values that need no virtual call are read.
inline TensorFacts read_facts(const c10::TensorImpl& tensor) {
  TensorFacts facts;
  if (&tensor == static_cast<const c10::TensorImpl*>(c10::UndefinedTensorImpl::singleton())) {
    facts.marks = kUndefined;
    return facts;
  }
  facts.dtype = tensor.dtype().toScalarType();
  if (tensor.requires_grad())
    facts.marks |= kRequiresGrad;
  const bool subclass = tensor.is_python_dispatch();
  if (subclass)
    facts.marks |= kSubclass;
  if (!subclass) {
    const c10::Device device = tensor.device();
    facts.device_type = device.type();
    facts.device_index =
        device.type() == c10::DeviceType::CPU ? c10::DeviceIndex{-1} : device.index();
    facts.layout = tensor.layout();
  }
  if (tensor.has_symbolic_sizes_strides()) {
    facts.marks |= kSymbolic;
  } else if (tensor.is_nested()) {
    facts.marks |= kNested;
  } else {
    facts.sizes = tensor.sizes_default();
    const bool contiguous = tensor.is_contiguous_default(at::MemoryFormat::Contiguous);
    if (facts.layout == c10::kStrided && !contiguous)
      facts.strides = tensor.strides_default();
  }
  return facts;
}

}  // namespace perfprobe
