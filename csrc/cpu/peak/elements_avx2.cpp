// Compiled for AVX2 and FMA. Only called on processors that have both.
#if defined(__x86_64__)

#include "cpu/peak/element_loops.h"

namespace perfprobe::peak {

const ElementLoop kAvx2Loops[kElementLoops] = PERFPROBE_ELEMENT_LOOPS;

}  // namespace perfprobe::peak

#endif
