// The C stack of the calling thread.
#pragma once

#include <initializer_list>

namespace perfprobe {

// Whether this thread is inside a function of a library whose path contains one of these words.
// Also true if the stack is too deep to tell.
bool library_on_stack(std::initializer_list<const char*> words);

}  // namespace perfprobe
