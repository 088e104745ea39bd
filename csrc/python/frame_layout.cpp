#include "python/frame_layout.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <Python.h>

#include "python/frames.h"
#include "python/layout_offsets.h"

namespace perfprobe {
namespace {

std::string this_version() {
  return "Python " + std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
}

#ifdef PERFPROBE_FAST_FRAMES

// Returns the innermost frame that is read differently.
std::string difference_of_stacks() {
  constexpr size_t kMost = 64;
  FrameList by_layout;
  FrameList by_python;
  PyThreadState* state = PyThreadState_Get();
  read_frames_public(state, nullptr, by_python, kMost);
  for (const RawFrame* frame = top_frame(state);
       frame != nullptr && by_layout.size() < by_python.size(); frame = outer_of(frame)) {
    if (has_code(frame))
      by_layout.push_back(place_of(frame, nullptr));
  }
  const auto is_same = [](const FrameRef& one, const FrameRef& other) {
    return one.code == other.code && one.instruction == other.instruction;
  };
  if (std::ranges::equal(by_layout, by_python, is_same))
    return {};
  return this_version() + " keeps its frames in another way than the headers say";
}

#endif

std::string misfit() {
#ifdef PERFPROBE_FAST_FRAMES
  const std::string difference = difference_of_offsets();
  return difference.empty() ? difference_of_stacks() : difference;
#elif defined(Py_GIL_DISABLED)
  return this_version() + " without a global lock changes frames while they are read";
#else
  return "the layout of frames of " + this_version() + " is not known";
#endif
}

std::string& kept_misfit() {
  static std::string text;
  return text;
}

}  // namespace

void check_frame_layout() {
  set_frames_misfit(misfit());
}

const std::string& frames_misfit() {
  return kept_misfit();
}

void set_frames_misfit(const std::string& text) {
  kept_misfit() = text;
  layout::fits = text.empty();
}

}  // namespace perfprobe
