// The limit of what recording operators costs, for the collector that starts and stops it.
#include <unistd.h>

#include <pybind11/pybind11.h>

#include "bindings/recorder_door.h"
#include "core/operator_budget.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// Never deleted: the writer may still call it.
class PyOperatorBudget {
 public:
  PyOperatorBudget(const py::capsule& recorder, double most_cost)
      : budget_(*new OperatorBudget(recorder_in(recorder), most_cost)), process_(::getpid()) {}

  void start() { budget_.start(); }
  void stop() {
    const py::gil_scoped_release release;
    if (process_ == ::getpid())
      budget_.stop();
  }
  py::capsule capsule() { return py::capsule(static_cast<BudgetPort*>(&budget_), kBudgetCapsule); }

 private:
  OperatorBudget& budget_;
  const pid_t process_;
};

}  // namespace

void bind_budget(py::module_& module) {
  py::class_<PyOperatorBudget>(module, "OperatorBudget")
      .def(py::init<py::capsule, double>(), py::arg("recorder"), py::arg("most_cost"))
      .def("start", &PyOperatorBudget::start)
      .def("stop", &PyOperatorBudget::stop)
      .def("capsule", &PyOperatorBudget::capsule);
}

}  // namespace perfprobe
