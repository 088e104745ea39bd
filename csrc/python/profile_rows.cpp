#include "python/profile_rows.h"

#include <cmath>

#include "python/read_objects.h"

namespace perfprobe {
namespace {

constexpr size_t kMostRows = 500'000;  // of each table; a reader takes two million in all
constexpr size_t kBlockRows = 100'000;
enum Item {
  kCode,
  kCalls,
  kRecursiveCalls,
  kTotalTime,
  kOwnTime,
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
  figures.own_ns += time_ns(entry, kOwnTime);
  figures.total_ns += time_ns(entry, kTotalTime);
  return place->second;
}

// A C function is known by what cProfile calls it.
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

using Column = std::vector<int64_t>;

void write_blocks(Recorder& recorder, std::string_view table,
                  const std::vector<std::pair<std::string_view, Column>>& columns) {
  const size_t rows = columns.front().second.size();
  for (size_t first = 0; first < rows; first += kBlockRows) {
    std::vector<ColumnView> views;
    for (const auto& [name, values] : columns)
      views.push_back({name, std::span(values).subspan(first, std::min(kBlockRows, rows - first))});
    recorder.add_rows(table, views);
  }
}

template <class Row, class Value>
Column column(const std::vector<Row>& rows, Value value) {
  Column values;
  values.reserve(rows.size());
  for (const Row& row : rows)
    values.push_back(value(row));
  return values;
}

}  // namespace

void ProfileRows::write(int32_t snapshot) {
  const auto figures = [snapshot](auto& rows, auto columns) {
    using Row = Figures;
    columns.emplace_back("snapshot", Column(rows.keys.size(), snapshot));
    columns.emplace_back("calls", column(rows.figures, [](const Row& row) { return row.calls; }));
    columns.emplace_back("primitive_calls",
                         column(rows.figures, [](const Row& row) { return row.primitive_calls; }));
    columns.emplace_back("own_ns", column(rows.figures, [](const Row& row) { return row.own_ns; }));
    columns.emplace_back("total_ns",
                         column(rows.figures, [](const Row& row) { return row.total_ns; }));
    return columns;
  };
  using Columns = std::vector<std::pair<std::string_view, Column>>;
  const auto of_function = [&](int32_t FunctionKey::* part) {
    return column(functions_.keys, [part](const FunctionKey& key) { return key.*part; });
  };
  const auto of_call = [&](int64_t CallKey::* part) {
    return column(calls_.keys, [part](const CallKey& key) { return key.*part; });
  };
  write_blocks(recorder_, "functions",
               figures(functions_, Columns{{"thread", of_function(&FunctionKey::thread)},
                                           {"file", of_function(&FunctionKey::file)},
                                           {"function", of_function(&FunctionKey::function)},
                                           {"first_line", of_function(&FunctionKey::first_line)}}));
  write_blocks(recorder_, "calls",
               figures(calls_, Columns{{"caller", of_call(&CallKey::caller)},
                                       {"callee", of_call(&CallKey::callee)}}));
}

}  // namespace perfprobe
