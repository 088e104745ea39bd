#include "python/profile_rows.h"

#include <cmath>

#include "core/row_table.h"
#include "python/read_objects.h"

namespace perfprobe {
namespace {

constexpr size_t kMostRows = 500'000;  // of each table; a reader takes two million in all
enum Item {
  kCode,
  kCalls,
  kRecursiveCalls,
  kTotalTime,
  kSelfTime,
  kCallees
};  // _lsprof.profiler_entry

PyObject* item(PyObject* entry, Item which) {
  return PyTuple_GET_ITEM(entry, which);
}

int64_t number(PyObject* entry, Item which) {
  return PyLong_AsLongLong(item(entry, which));
}

int64_t time_ns(PyObject* entry, Item which) {
  return std::llround(PyFloat_AsDouble(item(entry, which)) * 1e9);
}

}  // namespace

bool ProfileRows::add(int32_t thread, PyObject* profiler) {
  const NoCollection no_collection;
  PyObject* entries = PyObject_CallMethod(profiler, "getstats", nullptr);
  if (entries == nullptr) {  // at the recursion limit
    PyErr_Clear();
    return false;
  }
  std::unordered_map<PyObject*, int64_t> places;
  const Py_ssize_t count = PyList_GET_SIZE(entries);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* entry = PyList_GET_ITEM(entries, i);
    PyObject* code = item(entry, kCode);
    places.emplace(code, add_row(functions_, key_of(thread, code), entry));
  }
  for (Py_ssize_t i = 0; i < count; ++i)
    add_calls(PyList_GET_ITEM(entries, i), places);
  Py_DECREF(entries);
  return true;
}

// A callee that has not returned yet has no row.
void ProfileRows::add_calls(PyObject* entry, const std::unordered_map<PyObject*, int64_t>& places) {
  PyObject* callees = item(entry, kCallees);
  const int64_t caller = places.at(item(entry, kCode));
  if (PyList_Check(callees) == 0 || caller == kNone)
    return;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(callees); ++i) {
    PyObject* callee = PyList_GET_ITEM(callees, i);
    const auto place = places.find(item(callee, kCode));
    if (place != places.end() && place->second != kNone)
      add_row(calls_, CallKey{caller, place->second}, callee);
  }
}

template <class Key>
int64_t ProfileRows::add_row(Rows<Key>& rows, const Key& key, PyObject* entry) {
  if (rows.keys.size() >= kMostRows && !rows.places.contains(key)) {
    ++omitted_;
    return kNone;
  }
  const auto [place, is_new] = rows.places.emplace(key, static_cast<int64_t>(rows.keys.size()));
  if (is_new) {
    rows.keys.push_back(key);
    rows.figures.emplace_back();
  }
  Figures& figures = rows.figures[static_cast<size_t>(place->second)];
  figures.calls += number(entry, kCalls);
  figures.primitive_calls += number(entry, kCalls) - number(entry, kRecursiveCalls);
  figures.self_ns += time_ns(entry, kSelfTime);
  figures.total_ns += time_ns(entry, kTotalTime);
  return place->second;
}

// A C function is identified by cProfile's name of it.
ProfileRows::FunctionKey ProfileRows::key_of(int32_t thread, PyObject* code) {
  const auto intern = [&](PyObject* text) {
    return recorder_.define(
        [&](Definitions& definitions) { return definitions.intern(text_of(text)).id; });
  };
  if (PyCode_Check(code) == 0)
    return {thread, kNone, intern(code), 0};
  const auto* function = reinterpret_cast<PyCodeObject*>(code);
#if PY_VERSION_HEX >= 0x030B0000
  PyObject* name = function->co_qualname;
#else
  PyObject* name = function->co_name;
#endif
  return {thread, intern(function->co_filename), intern(name), function->co_firstlineno};
}

namespace {

template <class Rows, class Make>
void write_table(Recorder& recorder, const Rows& rows, Make make) {
  RowTable<decltype(make(rows.keys[0], rows.figures[0]))> table;
  for (size_t place = 0; place < rows.keys.size(); ++place) {
    if (table.is_full())
      table.write(recorder);
    table.add(make(rows.keys[place], rows.figures[place]));
  }
  table.write(recorder);
}

}  // namespace

void ProfileRows::write(int32_t snapshot) {
  write_table(recorder_, functions_, [snapshot](const FunctionKey& key, const Figures& figures) {
    return FunctionRow{.thread = key.thread,
                       .file = key.file,
                       .function = key.function,
                       .first_line = key.first_line,
                       .snapshot = snapshot,
                       .calls = figures.calls,
                       .primitive_calls = figures.primitive_calls,
                       .self_ns = figures.self_ns,
                       .total_ns = figures.total_ns};
  });
  write_table(recorder_, calls_, [snapshot](const CallKey& key, const Figures& figures) {
    return CallRow{.caller = key.caller,
                   .callee = key.callee,
                   .snapshot = snapshot,
                   .calls = figures.calls,
                   .primitive_calls = figures.primitive_calls,
                   .self_ns = figures.self_ns,
                   .total_ns = figures.total_ns};
  });
}

}  // namespace perfprobe
