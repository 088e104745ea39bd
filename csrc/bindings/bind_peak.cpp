// The peaks of this processor's instruction sets.
#include <stdexcept>
#include <string>

#include <pybind11/pybind11.h>

#include "cpu/peak/peak.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// (name, dtype, instruction, why it cannot run here or "").
py::list kernels() {
  py::list rows;
  for (const PeakKernel& kernel : peak_kernels())
    rows.append(py::make_tuple(kernel.name, kernel.dtype, kernel.instruction, kernel.lack()));
  return rows;
}

// How many products were multiplied and added, by what the sums hold.
int64_t run(const std::string& name, int64_t rounds) {
  for (const PeakKernel& kernel : peak_kernels()) {
    if (name != kernel.name)
      continue;
    const std::string lack = kernel.lack();
    if (!lack.empty())
      throw std::runtime_error(lack);
    // Registers alone: nothing of Python's is touched.
    const py::gil_scoped_release released;
    return static_cast<int64_t>(kernel.run(rounds));
  }
  throw std::invalid_argument("there is no kernel " + name);
}

}  // namespace

void bind_peak(py::module_& module) {
  module.def("peak_kernels", &kernels);
  module.def("run_peak", &run, py::arg("name"), py::arg("rounds"));
}

}  // namespace perfprobe
