#include "python/sampled_stacks.h"

namespace perfprobe {

int32_t SampledStacks::id_of(std::span<const FrameRef> frames) {
  Hasher hasher;
  for (const FrameRef& frame : frames)
    hasher.add(code_.entry(frame.code).number, static_cast<uint32_t>(frame.instruction));
  const Hash128 hash = hasher.result();
  const int32_t known = ids_.find(hash);
  if (known != InternTable::kAbsent)
    return known;
  if (rows_ >= kMostRows) {
    ++others_;
    return recorder_.define(
        [](Definitions& definitions) { return definitions.add_stack({kNone, kNone, kNone}); });
  }
  if (ids_.size() >= kMostKnown)
    ids_.clear();
  const int32_t id = recorder_.define([&](Definitions& definitions) {
    const size_t before = definitions.python_rows();
    const int32_t stack = add(definitions, frames);
    rows_ += definitions.python_rows() - before;
    return stack;
  });
  ids_.insert(hash, id);
  return id;
}

// Outermost first: a parent's id is smaller than its children's.
int32_t SampledStacks::add(Definitions& definitions, std::span<const FrameRef> frames) {
  int32_t stack = kNone;
  for (size_t i = frames.size(); i-- > 0;) {
    const SeenCode::Entry& code = code_.entry(frames[i].code);
    const FrameKey frame{definitions.intern(code.file).id, definitions.intern(code.function).id,
                         code.first_line, code.line_of(frames[i].instruction)};
    stack = definitions.add_stack({stack, definitions.add_frame(frame), kNone});
  }
  return stack;
}

}  // namespace perfprobe
