"""Makes figures with matplotlib and writes them to files."""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from perfprobe.support import files, install
from perfprobe.support.errors import EnvironmentLack


def matplotlib() -> tuple[Any, Any]:
    """Returns the type of a figure and its style. Without pyplot, so without windows or global state.

    Raises EnvironmentLack if matplotlib is missing.
    """
    try:
        figure: Any = importlib.import_module("matplotlib.figure")
        library: Any = importlib.import_module("matplotlib")
    except ImportError as error:
        what, remedy = "pictures like this are drawn by matplotlib", install.packages("matplotlib")
        raise EnvironmentLack(what, str(error), remedy) from error
    return figure.Figure, library.rc_context


@contextmanager
def drawn(path: str, width: float, height: float) -> Iterator[Any]:
    """Yields an empty figure, and afterwards writes it to a file in the format of its ending.

    Args:
        path: ends in .png, .svg or .pdf.
        width: in inches, as the height.
        height: in inches.

    Raises:
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    figure_type, style = matplotlib()
    with style({"svg.fonttype": "none", "text.parse_math": False, "font.size": 9}):
        figure = figure_type(figsize=(width, height), dpi=120, layout="constrained")
        yield figure
        picture = io.BytesIO()
        figure.savefig(picture, format=os.path.splitext(path)[1][1:])
    try:
        files.write(path, picture.getvalue())
    except OSError as error:
        what = f"the picture cannot be written ({error.strerror})"
        raise EnvironmentLack(what, path, "name another") from error
