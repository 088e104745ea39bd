#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/recorder_door.h"
#include "python/call_profile.h"
#include "python/profile_hook.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

CallProfile* make_profile(const py::capsule& recorder, std::string own,
                          std::vector<std::string> lenders, std::vector<std::string> libraries,
                          bool governed, const std::tuple<double, double, double, double>& costs) {
  const auto [call_ns, c_call_ns, slowed, event_ns] = costs;
  FilterRules rules{std::move(own), std::move(lenders), std::move(libraries)};
  return new CallProfile(recorder_in(recorder),
                         {std::move(rules), governed, call_ns, c_call_ns, slowed, event_ns});
}

void begin(CallProfile& profile) {
  if (!profile.begin())
    throw py::error_already_set();
}

}  // namespace

void bind_profile(py::module_& module) {
  // Never deleted: a thread that outlives the recording may still use it.
  py::class_<CallProfile, std::unique_ptr<CallProfile, py::nodelete>>(module, "CallProfile")
      .def(py::init(&make_profile), py::arg("recorder"), py::arg("own"), py::arg("lenders"),
           py::arg("libraries"), py::arg("governed"), py::arg("costs"))
      .def("begin", &begin)
      .def("end", [](CallProfile& profile) { profile.end(Ending::stopped); })
      .def("write", &CallProfile::write)
      .def("forget", &CallProfile::forget)
      .def_property_readonly("ending", &CallProfile::ending_text)
      .def_property_readonly("started_ns", &CallProfile::started_ns)
      .def_property_readonly("ended_ns", &CallProfile::ended_ns)
      .def_property_readonly("omitted_rows", &CallProfile::omitted_rows)
      .def_property_readonly("event_ns", &CallProfile::event_ns);
  module.def("thread_starter", [] {
    PyObject* starter = thread_starter();
    return starter == nullptr ? py::object(py::none())
                              : py::reinterpret_borrow<py::object>(starter);
  });
}

}  // namespace perfprobe
