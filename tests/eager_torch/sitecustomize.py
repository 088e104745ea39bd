"""Python runs this before each program that a test starts, see `tests/eager.py`."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class Instead:
    """Finds parts of torch, and makes smaller ones in their place."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        """Returns the specification of a part that is made smaller."""
        if name == "torch._inductor":  # torch.profiler asks whether there is one
            raise AttributeError("this program has no compiler: tests/eager.py")
        return type(sys.__spec__)(name, cls) if name in _MADE else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: "ModuleSpec") -> None:
        """Lets Python make a module as usual."""

    @staticmethod
    def exec_module(module: "ModuleType") -> None:
        """Fills the module."""
        _MADE[module.__name__](module)


def _dynamo(module: "ModuleType") -> None:
    """All that an optimizer calls. It does nothing in a program that does not compile."""
    module.disable = lambda function, *_, **__: function  # type: ignore[attr-defined]
    module.graph_break = lambda: None  # type: ignore[attr-defined]


def _meta(module: "ModuleType") -> None:
    """What the real one does beside: without it no torch.Generator can be made."""
    import torch

    if hasattr(torch._C, "_set_generator_metaclass"):  # from torch 2.12
        from torch._opaque_base import OpaqueBaseMeta

        torch._C._set_generator_metaclass(OpaqueBaseMeta)


_MADE = {"torch._dynamo": _dynamo, "torch._meta_registrations": _meta}
sys.meta_path.insert(0, Instead)
