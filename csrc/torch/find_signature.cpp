#include "torch/find_signature.h"

#include <algorithm>
#include <string>

#include "torch/tensor_values.h"

namespace perfprobe {
namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;

[[gnu::noinline]] int32_t add_signature(ThreadState& state, const at::RecordFunction& function,
                                        const NameSlot& slot, Inputs inputs, Hash128 hash,
                                        uint64_t seed) {
  Integers integers = slot.integers;
  const Hash128 typed = hash_inputs(inputs, Integers::by_type, seed);
  if (state.names.varies_without_end(slot, typed)) {
    state.names.set_by_type(slot);
    integers = Integers::by_type;
    hash = typed;
  }
  const SignatureDescription described = describe_inputs(function, inputs, integers);
  const char* example = described.example == described.text ? nullptr : described.example.c_str();
  // Beyond the limit every call comes here, and its signature is the row "(other)".
  const bool is_kept = state.signatures.size() < ThreadState::kCachedIds;
  const std::string values = is_kept ? describe_values(inputs) : "";
  const int32_t id = state.port->add_signature(
      hash, {described.text.c_str(), example, values.empty() ? nullptr : values.c_str(),
             described.grad_mask, slot.name, slot.overload});
  if (is_kept)
    state.signatures.insert(hash, id);
  return id;
}

// Values that were zero at first may change, such as an optimizer's state, and tensors of one
// signature may differ. So they are read at calls 4, 7, 11, 17, 26, ...: not all even, and not
// multiples of one number.
void read_values_again(ThreadState& state, int32_t signature, Inputs inputs) {
  const auto place = static_cast<size_t>(signature);
  if (place >= state.value_reads.size())
    state.value_reads.resize(std::max<size_t>(256, 2 * place));
  ValueReads& reads = state.value_reads[place];
  if (++reads.calls != reads.next)
    return;
  reads.next += reads.next / 2 + 1;
  const std::string values = describe_values(inputs);
  if (!values.empty())
    state.port->add_values(signature, values.c_str());
}

}  // namespace

int32_t find_signature(ThreadState& state, const at::RecordFunction& function, const NameSlot& slot,
                       bool is_thorough) {
  const Inputs inputs =
      inputs_of(function, static_cast<size_t>(slot.arguments));  // kNone: very large
  if (inputs.empty())
    return kNone;
  const uint64_t seed = static_cast<uint64_t>(static_cast<uint32_t>(slot.name)) << 33 |
                        static_cast<uint64_t>(static_cast<uint32_t>(slot.overload)) << 1 |
                        static_cast<uint64_t>(slot.integers);
  const Hash128 hash = hash_inputs(inputs, slot.integers, seed);
  const int32_t known = state.signatures.find(hash);
  if (known == InternTable::kAbsent)
    return add_signature(state, function, slot, inputs, hash, seed | 1);
  if (is_thorough) [[unlikely]]
    read_values_again(state, known, inputs);
  return known;
}

}  // namespace perfprobe
