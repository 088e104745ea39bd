// The extension module perfprobe._core: needs neither torch nor CUDA.
#include <pybind11/pybind11.h>

namespace perfprobe {
void bind_recorder(pybind11::module_& module);
void bind_emit(pybind11::module_& module);
void bind_frames(pybind11::module_& module);
void bind_sampler(pybind11::module_& module);
void bind_children(pybind11::module_& module);
void bind_processes(pybind11::module_& module);
void bind_profile(pybind11::module_& module);
void bind_ranges(pybind11::module_& module);
void bind_gpu(pybind11::module_& module);
void bind_cupti(pybind11::module_& module);
void bind_peak(pybind11::module_& module);
void bind_perf(pybind11::module_& module);
void bind_tables(pybind11::module_& module);
void bind_step_log(pybind11::module_& module);
void bind_budget(pybind11::module_& module);
void bind_device_memory(pybind11::module_& module);
void bind_thread_times(pybind11::module_& module);
void bind_read(pybind11::module_& module);
void bind_signals(pybind11::module_& module);
}  // namespace perfprobe

PYBIND11_MODULE(_core, module) {
  module.doc() = "The native recorder of perfprobe: buffers, recording file, Python frames.";
  perfprobe::bind_recorder(module);
  perfprobe::bind_emit(module);
  perfprobe::bind_frames(module);
  perfprobe::bind_sampler(module);
  perfprobe::bind_children(module);
  perfprobe::bind_processes(module);
  perfprobe::bind_profile(module);
  perfprobe::bind_ranges(module);
  perfprobe::bind_gpu(module);
  perfprobe::bind_cupti(module);
  perfprobe::bind_peak(module);
  perfprobe::bind_perf(module);
  perfprobe::bind_tables(module);
  perfprobe::bind_step_log(module);
  perfprobe::bind_budget(module);
  perfprobe::bind_device_memory(module);
  perfprobe::bind_thread_times(module);
  perfprobe::bind_read(module);
  perfprobe::bind_signals(module);
}
