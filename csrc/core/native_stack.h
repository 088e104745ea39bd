// The C stack of the calling thread.
#pragma once

#include <initializer_list>

namespace perfprobe {

// Whether a function of a library whose path holds one of these words is under way on this thread;
// also true when the stack is too deep to tell.
bool library_on_stack(std::initializer_list<const char*> words);

}  // namespace perfprobe
