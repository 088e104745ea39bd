"""The user's line that is running."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_CONTEXTS = "contextlib.py"
_OURS = os.path.dirname(os.path.abspath(__file__))


def place_of(frame: FrameType | None, libraries: str) -> dict[str, object]:
    """File, line and function of the innermost frame that is neither in `libraries` nor ours; else {}."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((libraries, _OURS, "<frozen ")) and not file.endswith(_CONTEXTS):
            function = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # from Python 3.11 on
            return {"file": file, "line": frame.f_lineno, "function": function}
        frame = frame.f_back
    return {}
