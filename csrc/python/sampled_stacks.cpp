#include "python/sampled_stacks.h"

#include <algorithm>
#include <ranges>

#ifdef PERFPROBE_FOREIGN_FRAMES

namespace perfprobe {

bool SampledStacks::name(std::span<const ForeignFrame> frames, NamedStack& last, int32_t& id,
                         bool with_gaps) {
  const auto inwards = frames | std::views::reverse;
  const auto parting = std::ranges::mismatch(inwards, last.frames);
  const auto same = static_cast<size_t>(parting.in2 - last.frames.begin());
  last.frames.resize(same);
  last.ids.resize(same);
  if (!code_.check(frames.first(frames.size() - same), with_gaps))
    return false;
  id = same == 0 ? kNone : last.ids.back();
  recorder_.define([&](Definitions& definitions) {
    const size_t before = definitions.python_rows();
    for (ForeignFrame frame : inwards | std::views::drop(same)) {
      id = add(definitions, id, frame);
      if (id == kNone)
        return;
      if (code_.entry(frame.code).is_fleeting())
        frame.code = nullptr;
      last.frames.push_back(frame);
      last.ids.push_back(id);
    }
    rows_ += definitions.python_rows() - before;
  });
  if (id == kNone) {
    ++others_;
    id = recorder_.define(
        [](Definitions& definitions) { return definitions.add_stack(StackKey{}); });
  }
  return true;
}

// Returns kNone if there is no room for another row.
int32_t SampledStacks::add(Definitions& definitions, int32_t outer, const ForeignFrame& frame) {
  SeenCode::Entry& code = code_.entry(frame.code);
  const bool is_full = rows_ >= kMostRows;
  if (code.named_frame == kNone || code.named_instruction != frame.instruction) {
    if (is_full)
      return kNone;
    code.named_instruction = frame.instruction;
    code.named_frame = definitions.add_frame({definitions.intern(code.file).id,
                                              definitions.intern(code.function).id, code.first_line,
                                              code.line_of(frame.instruction)});
  }
  const int32_t asks = code.asks_next(frame.instruction) ? 1 : kNone;
  const StackKey stack{outer, code.named_frame, kNone, asks};
  return is_full && !definitions.has_stack(stack) ? kNone : definitions.add_stack(stack);
}

}  // namespace perfprobe

#endif
