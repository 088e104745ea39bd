"""What test programs that make an optimizer, but do not compile, begin with."""

# The first step of an optimizer imports torch._dynamo, 1 to 2 s of CPU time in each process, and then only
# calls these two functions, which do nothing in a program that does not compile. The programs of
# benchmarks/workloads and of `--keep` import the real one.
WITHOUT_DYNAMO = (
    "import sys, types; sys.modules['torch._dynamo'] = types.SimpleNamespace("
    "disable=lambda function, *_, **__: function, graph_break=lambda: None)\n"
)
