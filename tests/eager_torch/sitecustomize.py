"""Python runs this before each program that a test starts: why, and how to do without it, is in `tests/eager.py`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class Instead:
    """Finds, and then is, `torch._meta_registrations`, the last part that torch imports."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Returns the module's specification, once."""
        if name != "torch._meta_registrations":
            return None
        sys.meta_path.remove(cls)
        return type(sys.__spec__)(name, cls)

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Lets Python make a module as usual."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Does what a part of the real one does beside: without it no torch.Generator can be made."""
        import torch

        if hasattr(torch._C, "_set_generator_metaclass"):  # from torch 2.12
            from torch._opaque_base import OpaqueBaseMeta

            torch._C._set_generator_metaclass(OpaqueBaseMeta)


sys.meta_path.insert(0, Instead)
