// Converts figures of decoded CUPTI buffers to Python.
#pragma once

#include <pybind11/pybind11.h>

#include "gpu/gpu_rows.h"
#include "gpu/gpu_totals.h"

namespace perfprobe {

inline void describe(const GpuRowFigures& figures, pybind11::dict& named) {
  named["records"] = figures.records;
  named["untimed"] = figures.untimed;
  named["shifted"] = figures.shifted;
  named["foreign_times"] = figures.foreign_times;
  named["unknown_kinds"] = figures.unknown_kinds;
  named["malformed"] = figures.malformed;
  named["beyond_limits"] = figures.dropped;
  named["unread_names"] = figures.unread_names;
  named["most_nodes"] = figures.most_nodes;
}

// Each total as (calls, bytes, ns).
inline void describe(const GpuTotalsSnapshot& totals, pybind11::dict& named) {
  const auto triple = [](const GpuTotal& total) {
    return pybind11::make_tuple(total.calls, total.bytes, total.ns);
  };
  const auto triples = [&](const auto& each) {
    pybind11::list list;
    for (const GpuTotal& total : each)
      list.append(triple(total));
    return list;
  };
  named["kernels"] = triple(totals.kernels);
  named["copies"] = triples(totals.copies);
  named["fills"] = triple(totals.fills);
  named["waits"] = triples(totals.waits);
}

}  // namespace perfprobe
