"""Python runs this before each program that a test starts, see `tests/eager.py`."""

import gc
import os
import sys

_IS_WHOLE = "PERFPROBE_WHOLE_TORCH" in os.environ
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class Instead:
    """Finds torch, and makes parts of it smaller or leaves them out."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        """Returns the specification of torch, or of a part that is made here."""
        if name == "torch":
            return _torch()
        if _IS_WHOLE:
            return None
        if name == "torch._inductor":  # torch.profiler asks whether there is one
            raise AttributeError("this program has no compiler: tests/eager.py")
        if name in _MADE or f"{name}.".startswith(_LEFT_OUT):
            return type(sys.__spec__)(name, cls, is_package=True)  # type: ignore[arg-type]
        return None

    @staticmethod
    def create_module(spec: "ModuleSpec") -> None:
        """Lets Python make a module as usual."""

    @staticmethod
    def exec_module(module: "ModuleType") -> None:
        """Fills the module."""
        _MADE.get(module.__name__, _nothing)(module)


def _torch() -> "ModuleSpec | None":
    """What Python finds, with a loader of another class, because perfprobe marks the loader itself."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("torch")
    if spec is not None and spec.loader is not None:
        found = type(spec.loader)
        spec.loader.__class__ = type(found.__name__, (found,), {"exec_module": _uncollected})
    return spec


def _uncollected(loader: object, module: "ModuleType") -> None:
    """Imports without collecting garbage. What lives then lives to the end, so no collection looks at it."""
    was_enabled = gc.isenabled()
    gc.disable()
    super(type(loader), loader).exec_module(module)  # type: ignore[misc]
    gc.freeze()
    if was_enabled:
        gc.enable()


def _nothing(module: "ModuleType") -> None:
    """Whatever is imported from it refuses to be called."""

    def _named(name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: object, **__: object) -> None:
            raise NotImplementedError(f"this program has no {module.__name__}.{name}: tests/eager.py")

        return type(name, (), {"__init__": refuse})

    module.__getattr__ = _named  # type: ignore[method-assign]


def _dynamo(module: "ModuleType") -> None:
    """All that optimizers and DistributedDataParallel call: nothing in a program that does not compile."""
    module.disable = lambda function, *_, **__: function  # type: ignore[attr-defined]
    module.graph_break = lambda: None  # type: ignore[attr-defined]
    module.utils = module  # type: ignore[attr-defined]
    module.get_optimize_ddp_mode = lambda: "no_optimization"  # type: ignore[attr-defined]


def _meta(module: "ModuleType") -> None:
    """What the real one does beside: without it no torch.Generator can be made."""
    import torch

    if hasattr(torch._C, "_set_generator_metaclass"):  # from torch 2.12
        from torch._opaque_base import OpaqueBaseMeta

        torch._C._set_generator_metaclass(OpaqueBaseMeta)


def _nested(module: "ModuleType") -> None:
    """The real one is the first to import torch.fx, which other parts can only import behind it."""
    import torch.fx  # noqa: F401

    _nothing(module)


_MADE = {
    "torch._dynamo": _dynamo,
    "torch._meta_registrations": _meta,
    "torch.nested": _nested,
}
_LEFT_OUT = (
    "torch._export.",
    "torch._higher_order_ops.",
    "torch._native.",
    "torch.ao.",
    "torch.distributions.",
    "torch.export.",
    "torch.fx.experimental.",
    "torch.fx.passes.",
    "torch.masked.",
    "torch.nested.",
    "torch.nn.intrinsic.",
    "torch.nn.qat.",
    "torch.nn.quantizable.",
    "torch.nn.quantized.",
    "torch.quantization.",
    "torch.utils.data.datapipes.",
    "torch.utils.data.graph.",
    "torch.utils.data.graph_settings.",
    "torchgen.",
)
sys.meta_path.insert(0, Instead)
