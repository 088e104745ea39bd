"""Functions of libraries before which perfprobe takes note of something, and which it gives back."""

from __future__ import annotations

from perfprobe.collect.held_signals import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class WrappedFunctions:
    """Wraps attributes of modules, without changing what they do."""

    def __init__(self) -> None:
        self._wrapped: list[tuple[Any, str, object, object]] = []

    def wrap(
        self,
        module: Any,
        name: str,
        before: Callable[..., object] | None = None,
        after: Callable[..., object] | None = None,
    ) -> None:
        """Has these called as `held_signals.around` does. Nothing happens if there is no such function."""
        original = getattr(module, name, None)
        if original is not None:
            ours = around(original, before=before, after=after)
            setattr(module, name, ours)
            self._wrapped.append((module, name, original, ours))

    def restore(self) -> None:
        """Puts the originals back, except where somebody else has replaced ours."""
        for module, name, original, ours in self._wrapped:
            if getattr(module, name, None) is ours:
                setattr(module, name, original)
        self._wrapped.clear()
