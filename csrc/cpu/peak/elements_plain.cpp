// Compiled for the baseline of this architecture: SSE2 on x86, NEON on ARM.
#include "cpu/peak/element_loops.h"

namespace perfprobe::peak {

const ElementLoop kPlainLoops[kElementLoops] = PERFPROBE_ELEMENT_LOOPS;

}  // namespace perfprobe::peak
