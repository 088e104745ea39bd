// Binds the peak kernels: the most this processor does by instruction, by element, and in gathers.
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "cpu/peak/elements.h"
#include "cpu/peak/peak.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// Returns (name, dtype, instruction, why it cannot run here or "").
py::list kernels() {
  py::list rows;
  for (const PeakKernel& kernel : peak_kernels())
    rows.append(py::make_tuple(kernel.name, kernel.dtype, kernel.instruction, kernel.missing()));
  return rows;
}

// Raises if no kernel has that name or it cannot run here.
template <class Kernel>
const Kernel& find_kernel(const std::vector<Kernel>& kernels, const std::string& name) {
  for (const Kernel& kernel : kernels) {
    if (name != kernel.name)
      continue;
    const std::string missing = kernel.missing();
    if (!missing.empty())
      throw std::runtime_error(missing);
    return kernel;
  }
  throw std::invalid_argument("there is no kernel " + name);
}

// Returns how many products were multiplied and added, computed from the sums.
int64_t run(const std::string& name, int64_t rounds) {
  const PeakKernel& kernel = find_kernel(peak_kernels(), name);
  // The kernel uses registers only and touches no Python object.
  const py::gil_scoped_release released;
  return static_cast<int64_t>(kernel.run(rounds));
}

// Returns (name, kind, dtype, instructions, why it cannot run here or ""), the fastest instructions
// first.
py::list elements() {
  py::list rows;
  for (const ElementKernel& kernel : element_kernels())
    rows.append(py::make_tuple(kernel.name, kernel.kind, kernel.dtype, kernel.instructions,
                               kernel.missing()));
  return rows;
}

// Raises unless the buffer is contiguous and has one of these formats ("f", "d", "l" or "q").
py::buffer_info flat(const py::buffer& buffer, const char* formats, bool writable = false) {
  py::buffer_info found = buffer.request(writable);
  const bool fits = found.ndim == 1 && found.format.size() == 1 &&
                    std::strchr(formats, found.format[0]) != nullptr;
  if (!fits || (found.size > 1 && found.strides[0] != found.itemsize))
    throw std::invalid_argument(std::string("not a contiguous buffer of format ") + formats);
  return found;
}

void run_elements(const std::string& name, const py::buffer& left, const py::buffer& right,
                  const py::buffer& out) {
  const ElementKernel& kernel = find_kernel(element_kernels(), name);
  const char* format = std::strcmp(kernel.dtype, "f32") == 0 ? "f" : "d";
  const py::buffer_info a = flat(left, format);
  const py::buffer_info b = flat(right, format);
  const py::buffer_info made = flat(out, format, true);
  if (a.size != made.size || b.size != made.size)
    throw std::invalid_argument("the output needs as many elements as the input");
  const py::gil_scoped_release released;
  kernel.run(a.ptr, b.ptr, made.ptr, made.size);
}

// Copies part number `part`, so that each thread can copy its own. Places count bytes. The caller
// makes sure that every run lies in the table: checking it here would take as long as the copy.
void gather(const py::buffer& table, const py::buffer& places, const py::buffer& out,
            int64_t run_bytes, int64_t part, int64_t parts) {
  const py::buffer_info from = flat(table, "B");
  const py::buffer_info at = flat(places, "lq");
  const py::buffer_info to = flat(out, "B", true);
  if (run_bytes < 1 || parts < 1 || part < 0 || part >= parts || to.size != at.size * run_bytes)
    throw std::invalid_argument("the output needs as many bytes as the runs have");
  const int64_t first = at.size * part / parts;
  const int64_t count = at.size * (part + 1) / parts - first;
  const py::gil_scoped_release released;
  gather_runs(static_cast<const char*>(from.ptr), static_cast<const int64_t*>(at.ptr) + first,
              count, run_bytes, static_cast<char*>(to.ptr) + first * run_bytes);
}

}  // namespace

void bind_peak(py::module_& module) {
  module.def("peak_kernels", &kernels);
  module.def("run_peak", &run, py::arg("name"), py::arg("rounds"));
  module.def("element_kernels", &elements);
  module.def("run_elements", &run_elements, py::arg("name"), py::arg("left"), py::arg("right"),
             py::arg("out"));
  module.def("gather", &gather, py::arg("table"), py::arg("places"), py::arg("out"),
             py::arg("run_bytes"), py::arg("part") = 0, py::arg("parts") = 1);
}

}  // namespace perfprobe
