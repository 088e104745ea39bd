#include "torch/operator_ranges.h"

#include <string>
#include <string_view>

#include "torch/signature.h"
#include "torch/stacks.h"

namespace perfprobe {
namespace {

constexpr int64_t kLaterNodes = 4;  // the most further nodes of one operator that are searched
constexpr std::string_view kViewWrittenTo = "torch::autograd::CopySlices";
// How many messages a thread caches. Beyond it operators are distinguished by name only.
constexpr size_t kCachedMessages = 4 * RangeMessages::kMost;
constexpr size_t kCachedNames = 2 * RangeMessages::kMostNames;

struct AsyncRange final : at::ObserverContext {
  AsyncRange(const EmissionPort& to, uint64_t begun) : port(to), range(begun) {}
  const EmissionPort& port;
  uint64_t range;
};

Hash128 key_of(const OpenOperator& open) {
  const auto pair = [](int32_t low, int32_t high) {
    return static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low);
  };
  Hasher hasher;
  hasher.add(pair(open.name, open.signature), pair(open.stack, open.forward_line));
  return hasher.result();
}

// Returns the line of the forward call that made the node. Nodes of TorchScript stand for many
// calls. Other names with the "::" of C++ are nodes of the program, which are the only ones of
// their call.
int32_t line_of_node(const ForwardLines& forward, std::string_view name, const OpenOperator& open) {
  if (name.starts_with("torch::jit::"))
    return kNone;
  const bool may_be_later = name.find("::") == std::string_view::npos || name == kViewWrittenTo;
  return forward.find(open.node_thread, open.node_sequence, may_be_later ? kLaterNodes : 0);
}

void set_forward_line(const Emitter& emitter, const NameSlot& slot, OpenOperator* parent,
                      OpenOperator& open) {
  open.forward_line = kNone;
  if (open.node_thread == kNone)
    return;
  if (static_cast<at::RecordScope>(open.scope) != at::RecordScope::BACKWARD_FUNCTION) {
    open.forward_line = parent == nullptr ? kNone : parent->forward_line;
    return;
  }
  open.forward_line = line_of_node(emitter.forward, slot.text, open);
  if (parent != nullptr && parent->is_engine)  // work of the engine after the node has ended
    parent->forward_line = open.forward_line;
}

// Returns the message of an operator by its name only. The thread's cache has it under a separate
// key.
int32_t add_name(ThreadState& state, const NameSlot& slot) {
  OpenOperator named{};
  named.name = slot.name;
  named.signature = named.stack = named.forward_line = kNone - 1;  // no operator has these values
  const Hash128 key = key_of(named);
  const int32_t known = state.range_messages.find(key);
  if (known != InternTable::kAbsent)
    return known;
  const int32_t id = state.emitter->messages.add_name(slot.text);
  if (state.range_messages.size() < kCachedMessages + kCachedNames)
    state.range_messages.insert(key, id);
  return id;
}

[[gnu::noinline]] int32_t add_message(ThreadState& state, const at::RecordFunction& function,
                                      const NameSlot& slot, const OpenOperator& open, Hash128 key) {
  Emitter& emitter = *state.emitter;
  if (emitter.messages.full() || state.range_messages.size() >= kCachedMessages)
    return add_name(state, slot);
  std::string text = slot.text;
  if (open.signature != kNone) {
    const auto inputs = inputs_of(function, static_cast<size_t>(slot.arguments));
    text += " " + describe_inputs(function, inputs, slot.integers).text;
  }
  const bool in_backward = open.node_thread != kNone;
  const std::string own = open.stack == kNone ? "" : users_line(state, emitter.lines, in_backward);
  int32_t line = open.forward_line;
  if (!own.empty()) {
    line = emitter.messages.add_line(own);
    text += " @ " + own;
  } else if (line != kNone) {
    text += " @ " + emitter.messages.line(line) + " (backward)";
  }
  const int32_t id = emitter.messages.add(text, line);
  if (id == kNone)
    return add_name(state, slot);
  state.range_messages.insert(key, id);
  return id;
}

void begin_kind(ThreadState& state, const NameSlot& slot, const OpenOperator* parent,
                OpenOperator& open) {
  const bool is_node =
      static_cast<at::RecordScope>(open.scope) == at::RecordScope::BACKWARD_FUNCTION;
  const bool around = parent != nullptr && parent->is_inside;
  open.kind = is_node ? Kind::backward : slot.kind;
  open.is_inside = around || open.kind != Kind::any;
  if (around || open.kind == Kind::any)
    return;
  state.emitter->training.begin_operator(state.phase, open.kind);
  open.follows |= kPhase;
}

}  // namespace

std::unique_ptr<at::ObserverContext> begin_range(ThreadState& state,
                                                 const at::RecordFunction& function,
                                                 const NameSlot& slot, OpenOperator* parent,
                                                 OpenOperator& open) {
  Emitter& emitter = *state.emitter;
  set_forward_line(emitter, slot, parent, open);
  begin_kind(state, slot, parent, open);
  const Hash128 key = key_of(open);
  const int32_t known = state.range_messages.find(key);
  const int32_t id =
      known != InternTable::kAbsent ? known : add_message(state, function, slot, open, key);
  const RangeMessage& message = emitter.messages[id];
  if (open.sequence >= 0 && static_cast<at::RecordScope>(open.scope) == at::RecordScope::FUNCTION)
    emitter.forward.note(state.forward_id, open.sequence, message.line);
  if (function.isAsync()) [[unlikely]]
    return std::make_unique<AsyncRange>(emitter.port, emitter.port.begin(message.handle));
  emitter.port.push(message.handle);
  open.follows |= kRange;
  return nullptr;
}

void end_async_range(at::ObserverContext& context) {
  auto& range = static_cast<AsyncRange&>(context);
  range.port.end(range.range);
}

}  // namespace perfprobe
