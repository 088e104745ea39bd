// Hands a text of any length to another process. A word of a command line or of the environment has
// at most 128 KiB (MAX_ARG_STRLEN).
#pragma once

#include <string_view>

namespace perfprobe {

// Returns a descriptor from which a new process reads the text, or -1 and errno. The text is in
// memory: it needs no folder, no other user can open it, and nothing is left if the new process
// never starts.
int handed_text(std::string_view text);

}  // namespace perfprobe
