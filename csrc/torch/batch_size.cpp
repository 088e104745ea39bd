#include "torch/batch_size.h"

#include <cstring>

#include <torch/csrc/autograd/python_variable.h>

#include "core/loop_port.h"
#include "python/frame_values.h"
#include "python/frames.h"
#include "torch/gil.h"

namespace perfprobe {
namespace {

constexpr int kDeepestBatch = 4;
constexpr int kMostInBatch = 64;
constexpr size_t kMostFrames = 8;  // torch's own between `__next__` and here

// THPVariable_Check asks the class, which runs Python.
bool is_tensor(PyObject* value) {
  return THPVariableClass != nullptr &&
         PyType_IsSubtype(Py_TYPE(value), reinterpret_cast<PyTypeObject*>(THPVariableClass)) != 0;
}

class FirstDimension {
 public:
  void look(PyObject* value, int depth = 0) {
    if (value == nullptr || depth > kDeepestBatch || tensors_ > kMostInBatch)
      return;
    if (is_tensor(value)) {
      add(THPVariable_Unpack(value));
    } else if (PyTuple_Check(value) || PyList_Check(value)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && tensors_ <= kMostInBatch; ++i)
        look(PySequence_Fast_GET_ITEM(value, i), depth + 1);
    } else if (PyDict_Check(value)) {
      look_into_dict(value, depth + 1);
    } else {
      look_into_data(value, depth + 1);
    }
  }
  [[nodiscard]] int64_t found() const { return agrees_ && tensors_ > 0 ? size_ : kNotKnown; }

 private:
  void add(const at::Tensor& tensor) {
    if (tensor.layout() != at::kStrided || tensor.dim() == 0)
      return;
    const int64_t size = tensor.size(0);
    agrees_ = agrees_ && (tensors_ == 0 || size == size_);
    size_ = size;
    ++tensors_;
  }
  void look_into_dict(PyObject* dict, int depth) {
    Py_ssize_t place = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(dict, &place, &key, &value) != 0)
      look(value, depth);
  }
  // A UserDict, as those of tokenizers. No code of its class runs.
  void look_into_data(PyObject* value, int depth) {
    if ((Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0)
      return;
    const Gil gil;
    PyObject* name = PyErr_Occurred() == nullptr ? PyUnicode_FromString("data") : nullptr;
    PyObject* data = name == nullptr || _PyType_Lookup(Py_TYPE(value), name) != nullptr
                         ? nullptr
                         : PyObject_GenericGetAttr(value, name);
    if (data != nullptr && PyDict_Check(data))
      look_into_dict(data, depth);
    Py_XDECREF(data);
    Py_XDECREF(name);
    PyErr_Clear();
  }

  int64_t size_ = kNotKnown;
  int tensors_ = 0;
  bool agrees_ = true;
};

constexpr const char* kFunction = "__next__";

int64_t samples_of(PyObject* batch) {
  FirstDimension dimension;
  dimension.look(batch);
  return dimension.found();
}

bool is_named(PyObject* name, const char* text) {
  return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

int64_t samples_in(const RawFrame* frame) {
  PyObject* names = variable_names(code_of(frame));
  for (int i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    if (!is_named(PyTuple_GET_ITEM(names, i), "data"))
      continue;
    PyObject* batch = variable_of(frame, i);
    return batch == nullptr ? kNoBatch : samples_of(batch);
  }
  return kNotKnown;
}

// Without the GIL: the frame keeps the batch alive, and nobody else has it yet.
int64_t samples_by_layout(const PyThreadState* python) {
  const RawFrame* frame = top_frame(python);
  for (size_t i = 0; frame != nullptr && i < kMostFrames; ++i, frame = outer_of(frame)) {
    if (has_code(frame) && is_named(code_of(frame)->co_name, kFunction))
      return samples_in(frame);
  }
  return kNotKnown;
}

// Its variables: `self`, and `data` once there is a batch.
int64_t samples_by_public_api() {
  const Gil gil;
  for (const FrameValues& frame : read_frame_values(kMostFrames)) {
    if (is_named(frame.code->co_name, kFunction))
      return frame.variables.size() < 2 ? kNoBatch : samples_of(frame.variables[1]);
  }
  return kNotKnown;
}

}  // namespace

int64_t samples_of_batch() {
  const PyThreadState* python = PyGILState_GetThisThreadState();
  if (python == nullptr)
    return kNotKnown;
  return frames_fit() ? samples_by_layout(python) : samples_by_public_api();
}

}  // namespace perfprobe
