#include "torch/operand_reuse.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>

#include <ATen/core/function_schema.h>

#include "torch/tensor_facts.h"

namespace perfprobe {
namespace {

Touched touched(const c10::TensorImpl& tensor) {
  const TensorFacts facts = read_facts(tensor);
  const bool dense = (facts.marks & ~kRequiresGrad) == 0 && facts.layout == c10::kStrided &&
                     facts.device_type == c10::DeviceType::CPU && tensor.has_storage();
  if (!dense)
    return {&tensor, nullptr, 0};
  const c10::StorageImpl& storage = *tensor.unsafe_storage().unsafeGetStorageImpl();
  const std::optional<int64_t> stored = storage.sym_nbytes().maybe_as_int();
  uint64_t bytes = tensor.dtype().itemsize();
  for (const int64_t size : facts.sizes)
    bytes *= static_cast<uint64_t>(size);
  try {
    // An expanded tensor counts only the memory that it has.
    const void* data = storage.data();
    const auto there = static_cast<uint64_t>(data == nullptr ? 0 : stored.value_or(0));
    return {&tensor, data, std::min(bytes, there)};
  } catch (const c10::Error&) {
    return {&tensor, nullptr, 0};  // torch does not give its address
  }
}

bool is_same(const Touched& one, const Touched& other) {
  if (one.tensor == other.tensor)
    return true;
  return one.storage != nullptr && one.storage == other.storage &&
         one.tensor->dtype() == other.tensor->dtype() &&
         one.tensor->storage_offset() == other.tensor->storage_offset() &&
         one.tensor->sizes_default() == other.tensor->sizes_default() &&
         one.tensor->strides_default() == other.tensor->strides_default();
}

int32_t same_before(const Touched* tensors, size_t place) {
  for (size_t earlier = 0; earlier < place; ++earlier) {
    if (is_same(tensors[earlier], tensors[place]))
      return static_cast<int32_t>(earlier);
  }
  return -1;
}

}  // namespace

bool touches_operands(const at::RecordFunction& function) {
  const std::optional<c10::FunctionSchema> schema = function.operator_schema();
  if (!schema)
    return false;
  const std::string_view name = schema->name();
  // These allocate memory without touching it, or only read the sizes of their inputs.
  for (const char* prefix : {"aten::empty", "aten::new_", "aten::resize", "aten::_unsafe_view"}) {
    if (name.starts_with(prefix))
      return false;
  }
  if (name.ends_with("_like"))
    return false;
  return std::none_of(schema->returns().begin(), schema->returns().end(),
                      [](const c10::Argument& made) {
                        return made.alias_info() != nullptr && !made.alias_info()->isWrite();
                      });
}

OpenOperands::Level& OpenOperands::open(size_t depth) {
  if (levels_.size() <= depth)
    levels_.resize(depth + 1);
  const size_t first = depth == 0 ? 0 : levels_[depth - 1].end;
  tensors.resize(std::min(first, tensors.size()));
  levels_[depth] = {tensors.size(), tensors.size()};
  return levels_[depth];
}

void OpenOperands::add(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && tensors.size() < kMostTensors)
      tensors.push_back(touched(*tensor.unsafeGetTensorImpl()));
  } else if (value.isList()) {
    const c10::ArrayRef<c10::IValue> items = value.toListRef();
    if (items.empty() || !(items.front().isTensor() || items.front().isNone()))
      return;
    for (const c10::IValue& item : items) {
      if (item.isTensor())
        add(item);
    }
  }
}

void OperandReuse::clear() {
  const std::lock_guard lock(mutex_);
  madvise(slots_, kSlots * sizeof(Slot), MADV_DONTNEED);  // fills with zeros
  signatures_.clear();
  missed_ = {};
  touches_ = 0;
}

void OperandReuse::begin(OpenOperands& operands, size_t depth, bool touches, int32_t signature,
                         c10::ArrayRef<const c10::IValue> inputs) {
  OpenOperands::Level& level = operands.open(depth);
  for (const c10::IValue& input : inputs)
    operands.add(input);
  level.end = operands.tensors.size();
  level.touches = touches;
  level.signature = signature;
  const std::lock_guard lock(mutex_);
  level.touches_before = touches_;
  if (signature >= 0) {
    count(signature, operands.tensors.data() + level.first,
          std::min(level.end - level.first, kOperands));
  }
}

void OperandReuse::end(OpenOperands& operands, size_t depth,
                       c10::ArrayRef<c10::IValue> outputs) noexcept {
  const OpenOperands::Level level = operands.at(depth);
  if (!level.touches)
    return;
  try {
    operands.tensors.resize(level.end);
    for (const c10::IValue& output : outputs)
      operands.add(output);
  } catch (const std::bad_alloc&) {
    // The outputs are then treated as memory that was never touched.
  }
  const std::lock_guard lock(mutex_);
  count_result(operands, level);
  for (size_t i = level.first; i < operands.tensors.size(); ++i)
    touch(operands.tensors[i], level.touches_before);
}

OperandReuse::Rows OperandReuse::rows() {
  const std::lock_guard lock(mutex_);
  Rows rows;
  constexpr size_t kRows = kOperands + 1;
  for (size_t place = 0; place < signatures_.size() * kRows; ++place) {
    const Operand& operand = signatures_[place / kRows][place % kRows];
    uint64_t all = 0;
    for (const uint32_t calls : operand.calls)
      all += calls;
    for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
      if (operand.calls[bucket] == 0)
        continue;
      rows.signature.push_back(static_cast<int64_t>(place / kRows));
      rows.operand.push_back(static_cast<int64_t>(place % kRows));
      rows.same_as.push_back(2 * uint64_t{operand.same_calls} > all ? operand.same_as : -1);
      rows.bucket.push_back(static_cast<int64_t>(bucket));
      rows.calls.push_back(operand.calls[bucket]);
      rows.back_bytes.push_back(static_cast<int64_t>(operand.back_bytes[bucket]));
    }
  }
  return rows;
}

OperandReuse::Slot& OperandReuse::slot_of(const void* storage) {
  const uint64_t mixed = (reinterpret_cast<uintptr_t>(storage) >> 4) * 0x9E3779B97F4A7C15ULL;
  const size_t home = mixed >> 40;
  Slot* oldest = &slots_[home % kSlots];
  for (size_t probe = 0; probe < kProbes; ++probe) {
    Slot& slot = slots_[(home + probe) % kSlots];
    if (slot.storage == storage)
      return slot;
    if (slot.touch < oldest->touch)
      oldest = &slot;
  }
  return *oldest;
}

void OperandReuse::count(Operand& operand, const Touched& tensor) {
  const Slot& slot = slot_of(tensor.storage);
  size_t bucket = kBuckets - 1;
  uint64_t back = 0;
  if (slot.storage == tensor.storage) {
    bucket = 0;
    while (bucket < kCaches && !lies_in(slot, bucket, tensor.bytes))
      ++bucket;
    // Uses what the next smaller cache missed, because the cache that still holds it may have
    // missed nothing.
    back = bucket == 0 ? missed_since(slot, 0) : missed_since(slot, bucket - 1);
    back = bucket < kCaches ? std::min(back, size_of(bucket)) : back;
  }
  const uint32_t calls = ++operand.calls[bucket];
  float& mean = operand.back_bytes[bucket];
  mean += (static_cast<float>(back) - mean) / static_cast<float>(calls);
}

void OperandReuse::count(int32_t signature, const Touched* tensors, size_t tensors_there) {
  const auto row = static_cast<size_t>(signature);
  if (row >= kSignatures)
    return;
  if (signatures_.size() <= row)
    signatures_.resize(row + 1);
  for (size_t place = 0; place < tensors_there; ++place) {
    if (tensors[place].bytes == 0)
      continue;
    Operand& operand = signatures_[row][place];
    count(operand, tensors[place]);
    const int32_t same = same_before(tensors, place);
    if (same >= 0) {
      ++operand.same_calls;
      operand.same_as = same;
    }
  }
}

// Counts for the first result how long ago its memory was touched, by its previous owner.
void OperandReuse::count_result(const OpenOperands& operands, const OpenOperands::Level& level) {
  const auto row = static_cast<size_t>(level.signature);
  if (level.signature < 0 || row >= signatures_.size() || operands.tensors.size() <= level.end)
    return;
  const Touched& result = operands.tensors[level.end];
  const Touched* inputs = operands.tensors.data();
  const bool is_input =
      std::any_of(inputs + level.first, inputs + level.end,
                  [&](const Touched& input) { return input.storage == result.storage; });
  const bool is_made =
      result.bytes > 0 && !is_input && slot_of(result.storage).touch <= level.touches_before;
  if (is_made)
    count(signatures_[row][kResult], result);
}

void OperandReuse::touch(const Touched& tensor, uint64_t touches_before) {
  if (tensor.bytes == 0)
    return;
  Slot& slot = slot_of(tensor.storage);
  const bool known = slot.storage == tensor.storage;
  if (known && slot.touch > touches_before)
    return;
  for (size_t cache = 0; cache < kCaches; ++cache) {
    if (!known || !lies_in(slot, cache, tensor.bytes))
      missed_[cache] += tensor.bytes;
  }
  slot = {tensor.storage, ++touches_, missed_};
}

}  // namespace perfprobe
