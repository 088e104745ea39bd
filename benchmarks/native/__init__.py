"""A program whose parts are known, split by `perfprobe run --native` and by `perf record`."""
