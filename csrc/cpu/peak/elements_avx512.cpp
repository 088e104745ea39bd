// Compiled for AVX-512 (F, VL, DQ). Only called on processors that have it.
#if defined(__x86_64__)

#include "cpu/peak/element_loops.h"

namespace perfprobe::peak {

const ElementLoop kAvx512Loops[kElementLoops] = PERFPROBE_ELEMENT_LOOPS;

}  // namespace perfprobe::peak

#endif
