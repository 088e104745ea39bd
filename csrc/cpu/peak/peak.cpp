#include "cpu/peak/peak.h"

namespace perfprobe {

const std::vector<PeakKernel>& peak_kernels() {
  static const std::vector<PeakKernel> kernels = [] {
    std::vector<PeakKernel> all = peak::vector_kernels();
    for (const PeakKernel& kernel : peak::tile_kernels())
      all.push_back(kernel);
    return all;
  }();
  return kernels;
}

}  // namespace perfprobe
