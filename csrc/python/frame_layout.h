// Whether the layout of frames in the headers that this module was compiled with is that of the
// running interpreter.
#pragma once

#include <string>

namespace perfprobe {

// Decides how frames are read from now on. Compares the headers with the interpreter's own
// description of its layout (3.13 and later), and the calling thread's frames, read by the layout,
// with those of the public API. Needs the GIL.
void check_frame_layout();

// Returns what differs, or why no layout is known; empty if frames fit.
const std::string& frames_misfit();

// From now on, frames are read as where they do not fit, for this reason; empty: as where they fit.
void set_frames_misfit(const std::string& reason);

namespace layout {
inline bool fits = false;
}

// Whether frames can be read by their layout. False until it was checked.
inline bool frames_fit() {
  return layout::fits;
}

}  // namespace perfprobe
