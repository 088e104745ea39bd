"""Writes a call graph as a picture with Graphviz; without it, as the text it would have drawn."""

from __future__ import annotations

import importlib
import os

from perfprobe.report.picture.callgraph.layout import DPI
from perfprobe.support import files, install
from perfprobe.support.errors import EnvironmentLack

_PACKAGES = ("apt install graphviz", "brew install graphviz", "conda install -c conda-forge graphviz")
GRAPHVIZ = f"install Graphviz: {' or '.join(f'`{command}`' for command in _PACKAGES)}"


def require_packages() -> None:
    """Raises EnvironmentLack if a package that draws call graphs is missing."""
    needed = ("gprof2dot", "graphviz")
    for name in needed:
        try:
            importlib.import_module(name)
        except ImportError as error:
            what, remedy = "call graphs are drawn by gprof2dot and graphviz", install.packages(*needed)
            raise EnvironmentLack(what, str(error), remedy) from error


def render(text: str, path: str) -> None:
    """Write the picture in the format of the path's ending; `.dot` is the text itself.

    Args:
        text: a graph in the DOT language.
        path: ends with one of `support.graph_view.PICTURES`.

    Raises:
        EnvironmentLack: the file cannot be written, or Graphviz is missing. In the latter case the text is
            written beside it.
    """
    stem, suffix = os.path.splitext(path)
    data = text.encode(errors="replace")
    if suffix == ".dot":
        _write(data, path)
        return
    try:
        picture = _drawn(data, suffix[1:])
    except _DrawingError as error:
        _write(data, f"{stem}.dot")
        where = f"its text is in {stem}.dot"
        raise EnvironmentLack(f"the call graph was not drawn ({error.what})", where, error.remedy) from error
    _write(picture, path)


def drawn(text: str) -> bytes:
    """The picture as SVG. Raises EnvironmentLack if Graphviz is missing or fails."""
    try:
        return _drawn(text.encode(errors="replace"), "svg")
    except _DrawingError as error:
        raise EnvironmentLack(f"the call graph was not drawn ({error.what})", "", error.remedy) from error


class _DrawingError(Exception):
    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy


def _drawn(data: bytes, kind: str) -> bytes:
    import graphviz

    if kind == "svg":  # it has no pixels, and Graphviz 2.43 cuts it off with any other number
        data = data.replace(b"dpi=%d" % DPI, b"dpi=72", 1)
    try:
        picture: bytes = graphviz.pipe("dot", kind, data, quiet=True)
    except graphviz.ExecutableNotFound as error:
        raise _DrawingError("the program dot is not installed", GRAPHVIZ) from error
    except graphviz.CalledProcessError as error:
        lines = (error.stderr or b"").decode(errors="replace").split("\n")
        remedy = "draw less, with a larger --min-node, or see `dot -V`"
        raise _DrawingError(f"dot failed: {lines[0] or error.returncode}", remedy) from error
    except OSError as error:
        raise _DrawingError(f"dot cannot be run: {error.strerror}", GRAPHVIZ) from error
    return picture


def _write(data: bytes, path: str) -> None:
    try:
        files.write(path, data)
    except OSError as error:
        raise EnvironmentLack(f"the call graph cannot be written ({error.strerror})", path) from error
