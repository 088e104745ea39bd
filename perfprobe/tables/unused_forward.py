"""Forward whose result no backward uses."""

from __future__ import annotations

from perfprobe.tables.columns import Int32, Table, column
from perfprobe.tables.stacks import Frames, Modules


class UnusedForward(Table):
    """Places in training steps where autograd recorded a graph, and of which no backward node ever ran."""

    frame: Int32 = column("the user's line, the first frame on it", Frames)
    module: Int32 = column("the nn.Module, -1 none", Modules)
