"""Finds the forward call of a backward node.

Torch numbers the autograd nodes of each thread. A backward row has the thread and the number of its node. The
forward call is the operator that had this number when the node was made. Several operators have it, because
an operator reads the number when it starts, and only making a node increases it: composite operators around
the call, and earlier operators that make no node. The last of them to start made the node. An operator that
makes several nodes (a write into a view, an operator on a list) has only the number of the first. So a number
that no operator has belongs to the operator with the next lower number.

A forward call may itself have run in backward (double backward). If no Python code of the user ran there, it
has the line and the module of its own node's forward call, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from perfprobe.merge.forward import Entries
from perfprobe.merge.outermost import find_outermost, keys
from perfprobe.merge.timed_phases import PhasesByTime
from perfprobe.merge.unseen_nodes import Pauses, UnseenNodes
from perfprobe.models.nodes import NodeKind, node_kind
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.events import Operators, Threads
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import NoLine, Sites

COLUMNS = (
    "start_ns",
    "thread",
    "depth",
    "name",
    "sequence",
    "stack",
    "scope",
    "node_sequence",
    "node_thread",
)

DEEPEST_NODES = 16  # levels of backward within backward that are followed
MOST_NODES = 4096  # nodes of one operator
EARLIER_NUMBERS = 1024  # lower numbers that may come after the first one, because outer operators end later
NUMBERS_A_ROW = 4  # no operator makes more nodes; a number far beyond is damaged
SPARE_NUMBERS = 1_048_576
MOST_THREADS = 16_384  # threads whose forward calls are kept

_OF_MANY = -1  # in `stack`: a node that stands for several operators
_NO_CALL = 0  # in `stack`; 0, because columns of zeros take no memory until written
_STACK = 2  # added to each stack, so that -1 (a call without Python) is not "no call"
_NODE = 1
_AT_ONCE = 1 << 16  # numbers that are looked at together

Number = TypeVar("Number", bound=np.generic)


@dataclass
class Room:
    """How many more numbers the columns of all threads together may have."""

    numbers: int


@dataclass
class Calls:
    """The forward calls of one thread, by number minus `base`. Columns grow as numbers come.

    Attributes:
        room: shared by all threads.
        outermost: number of the key of the outermost operator around the call, see `Keys`.
        node: kind of the node that has the number.
        unseen, node_ns: numbers around pauses of recording, and when nodes ran last; None without pauses.
    """

    base: int
    room: Room
    unseen: UnseenNodes | None = None
    start_ns: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    stack: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    outermost: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    node: Int8 = field(default_factory=lambda: np.zeros(0, np.int8))  # its kind, 0 if none
    node_thread: Int32 | None = None  # None until a forward call ran in backward
    node_sequence: Int64 | None = None
    node_ns: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def slots(self, sequence: Int64) -> Rows:
        """Returns the index of each number; -1 if it is out of range."""
        limit = len(self.stack) + self.room.numbers
        slots = np.where((sequence < self.base) | (sequence - self.base >= limit), -1, sequence - self.base)
        self._reserve(int(slots.max()) + 1 if len(slots) else 0)
        return slots

    def add(self, rows: Operators, calls: Rows, outermost: Int32) -> None:
        """Adds the operators at these rows, which have a number. outermost: numbers of keys, for all rows."""
        slots = self.slots(rows.sequence[calls])
        slots, calls = slots[slots >= 0], calls[slots >= 0]
        if self.unseen is not None:
            self.unseen.add(rows.sequence[calls], rows.start_ns[calls])
        later = (self.stack[slots] == _NO_CALL) | (rows.start_ns[calls] > self.start_ns[slots])
        # Of equal indices the last one written stays: the last to start, and of these the inner one, which
        # ends first.
        chosen = np.flatnonzero(later)[::-1]
        chosen = chosen[np.argsort(rows.start_ns[calls[chosen]], kind="stable")]
        slots, calls = slots[chosen], calls[chosen]
        self.start_ns[slots] = rows.start_ns[calls]
        self.stack[slots] = rows.stack[calls] + _STACK
        self.outermost[slots] = outermost[calls]
        node_thread = rows.node_thread[calls]
        if self.node_thread is None and bool(np.any(node_thread >= 0)):
            self.node_thread = np.zeros(len(self.stack), np.int32)
            self.node_sequence = np.zeros(len(self.stack), np.int64)
        if self.node_thread is not None and self.node_sequence is not None:
            self.node_thread[slots] = node_thread + _NODE
            self.node_sequence[slots] = rows.node_sequence[calls]

    def refer(self, sequence: Int64, kind: Int8, start_ns: Int64) -> None:
        """Notes that backward nodes of these kinds have these numbers, and when they ran."""
        slots = self.slots(sequence)
        self.node[slots[slots >= 0]] = kind[slots >= 0]
        if self.unseen is not None:
            np.maximum.at(self.node_ns, slots[slots >= 0], start_ns[slots >= 0])

    def settle(self) -> None:
        """Call this after all rows: assigns the later nodes of a call to that call."""
        later = np.flatnonzero((self.node == NodeKind.ONE_OF_SEVERAL) & (self.stack == _NO_CALL))
        known = np.append(-MOST_NODES - 1, np.flatnonzero(self.stack != _NO_CALL))
        call = known[np.searchsorted(known, later) - 1]
        call = np.where(later - call <= MOST_NODES, call, later)
        own = np.flatnonzero((self.node > 0) & (self.stack != _NO_CALL))
        self.stack[later] = self.stack[call]
        self.outermost[later] = self.outermost[call]
        if self.node_thread is not None and self.node_sequence is not None:
            self.node_thread[later] = self.node_thread[call]
            self.node_sequence[later] = self.node_sequence[call]
        self._forget_unseen(np.append(own, later), np.append(own, call))
        self.stack[self.node == NodeKind.OF_SEVERAL_CALLS] = _OF_MANY
        self.start_ns = np.zeros(0, np.int64)  # a slice would keep the memory

    def _forget_unseen(self, node: Rows, call: Rows) -> None:
        """Forgets which call made a node, where it may be one that was not recorded."""
        if self.unseen is not None:
            is_unseen = self.unseen.among(node + self.base, self.start_ns[call], self.node_ns[node])
            self.stack[node[is_unseen]] = _NO_CALL
            self.node_ns = np.zeros(0, np.int64)

    def mark_referred(self, outermost: Mask, stacks: Mask) -> None:
        """Marks keys and stacks of the calls that backward nodes refer to, and frees the keys."""
        for first in range(0, len(self.node), _AT_ONCE):
            part = np.s_[first : first + _AT_ONCE]
            referred = (self.node[part] > 0) & (self.stack[part] > _NO_CALL)
            outermost[self.outermost[part][referred]] = True
            stacks[self.stack[part][referred] - _STACK] = True
        self.outermost = np.zeros(0, np.int32)

    def _reserve(self, size: int) -> None:
        if size <= len(self.stack):
            return
        size = min(max(size, 2 * len(self.stack)), len(self.stack) + self.room.numbers)
        self.room.numbers -= size - len(self.stack)
        self.start_ns = _longer(self.start_ns, size)
        self.stack = _longer(self.stack, size)
        self.outermost = _longer(self.outermost, size)
        self.node = _longer(self.node, size)
        if self.unseen is not None:
            self.node_ns = _longer(self.node_ns, size)
        if self.node_thread is not None and self.node_sequence is not None:
            self.node_thread = _longer(self.node_thread, size)
            self.node_sequence = _longer(self.node_sequence, size)


class Keys:
    """Different keys of outermost operators, each with a number from 0. There are few of them."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, key: Int64) -> Int32:
        """Returns the numbers of these keys; new keys get the next ones."""
        known = distinct(key)
        numbers = [self._numbers.setdefault(each, len(self._numbers)) for each in known.tolist()]
        return np.array(numbers, np.int32)[np.searchsorted(known, key)]

    def marked(self, marks: Mask) -> Int64:
        """Returns the keys whose numbers are marked, sorted."""
        return np.sort(np.array(list(self._numbers), np.int64)[marks])


class SitesOfRows:
    """The line and module of stacks, by whether the row with the stack ran in backward."""

    def __init__(self, sites: Sites) -> None:
        none = np.array([-1], np.int32)  # the last entry, for a stack of -1
        self.stacks = len(sites)
        self._frame = np.stack([np.append(sites.frame, none), np.append(sites.inside_frame, none)])
        self._module = np.stack([np.append(sites.module, none), np.append(sites.inside_module, none)])
        self._is_recompute = np.append(sites.is_recompute, False)
        self._is_data = np.append(sites.is_data, False)
        self._is_optimizer = np.append(sites.is_optimizer, False)

    def frame(self, stack: Int32, in_backward: Mask) -> Int32:
        """Returns the user's line, in backward the one inside the engine's call; -1 if none."""
        found: Int32 = self._frame[in_backward.astype(np.intp), stack]
        return found

    def module(self, stack: Int32, in_backward: Mask) -> Int32:
        """Returns the module, likewise."""
        found: Int32 = self._module[in_backward.astype(np.intp), stack]
        return found

    def is_recompute(self, stack: Int32) -> Mask:
        """A mask of the stacks with which rows in backward run forward code again."""
        return self._is_recompute[stack]

    def is_data(self, stack: Int32) -> Mask:
        """A mask of the stacks of data loading."""
        return self._is_data[stack]

    def is_optimizer(self, stack: Int32) -> Mask:
        """A mask of the stacks of an optimizer's step."""
        return self._is_optimizer[stack]


class Found(NamedTuple):
    """What is known of the forward call of each node.

    Attributes:
        frame, module: its line and module; -1 if none.
        no_line: why there is no line.
        stack: of the call that has this line, else of the first call; -1 if not known.
    """

    frame: Int32
    module: Int32
    no_line: Int8
    stack: Int32


class Watcher(Protocol):
    """Gets the operators while they are read, so that they are read only once."""

    @property
    def more_columns(self) -> tuple[str, ...]:
        """The columns that it needs in addition to those of this module."""

    def add(self, rows: Operators) -> None:
        """Takes the next batch, in the order of the file."""


class ForwardCalls:
    """All forward calls of a recording."""

    def __init__(self, recording: Recording, sites: Sites, watcher: Watcher | None = None) -> None:
        """Reads the recording once, for the watcher too. Raises InputError if it cannot be read."""
        self._calls: dict[int, Calls] = {}
        self._keys = Keys()
        self._pauses = Pauses(recording)
        self._room = Room(recording.operator_rows * NUMBERS_A_ROW + SPARE_NUMBERS)
        self.sites = SitesOfRows(sites)
        self._node_kinds = np.array([*map(node_kind, recording[Strings].text), NodeKind.ONLY_ONE], np.int8)
        forward_id = np.append(recording[Threads].forward_id, np.int32(-1))
        entries = Entries(recording[Stacks].parent)
        self.by_time = PhasesByTime(recording)
        more = {} if watcher is None else dict.fromkeys(watcher.more_columns)
        more |= {"end_ns": None} if self.by_time.is_used else {}
        for rows in recording.operators((*COLUMNS, *more)):
            self._add(rows, forward_id)
            if self.by_time.is_used:
                self.by_time.add(rows, forward_id)
            entries.add(rows)
            if watcher is not None:
                watcher.add(rows)
        for calls in self._calls.values():
            calls.settle()
        marks, stacks = np.zeros(len(self._keys), np.bool_), np.zeros(self.sites.stacks + 1, np.bool_)
        for calls in self._calls.values():
            calls.mark_referred(marks, stacks)
        self._is_forward_stack = np.append(entries.spread(stacks[:-1]), False)
        self._forward_outermost = self._keys.marked(marks)
        self.timed_phases = self.by_time.finish()

    def lines_of(self, node_thread: Int32, node_sequence: Int64) -> Found:
        """Returns what is known of each node's forward call."""
        frame = np.full(len(node_thread), -1, np.int32)
        module = np.full(len(node_thread), -1, np.int32)
        no_line = np.full(len(node_thread), NoLine.FORWARD_NOT_RECORDED, np.int8)
        stacks = np.full(len(node_thread), -1, np.int32)
        rows = np.arange(len(node_thread))
        thread, sequence = node_thread, node_sequence
        for depth in range(DEEPEST_NODES):
            stack, found, thread, sequence = self._look_up(thread, sequence)
            is_call, in_backward = found == NoLine.FORWARD_WITHOUT_LINE, thread >= 0
            line = self.sites.frame(stack, in_backward)
            stacks[rows] = np.where((depth == 0) | ((frame[rows] < 0) & (line >= 0)), stack, stacks[rows])
            frame[rows] = first_known(frame[rows], line)
            module[rows] = first_known(module[rows], self.sites.module(stack, in_backward))
            no_line[rows] = np.where(is_call & in_backward, NoLine.FORWARD_NOT_RECORDED, found)
            going_on = is_call & in_backward & ((frame[rows] < 0) | (module[rows] < 0))
            if not bool(going_on.any()):
                break
            rows, thread, sequence = rows[going_on], thread[going_on], sequence[going_on]
        return Found(frame, module, no_line, stacks)

    def is_forward(self, rows: Operators) -> Mask:
        """A mask of the rows of a batch that run in a call similar to one that a node refers to.

        Rows in backward are not. Similar means the same operator with the same stack, because the results of
        this very call may not be used.
        """
        found: Mask = self._is_forward_stack[rows.stack]
        if bool(found.any()):
            outermost, is_cut = find_outermost(rows)
            found[found] = self.is_forward_outermost(keys(rows, outermost)[found]) | is_cut[found]
        return found

    def is_forward_outermost(self, key: Int64) -> Mask:
        """A mask of the keys that are of a call that a backward node refers to."""
        if len(self._forward_outermost) == 0:
            return np.zeros(len(key), np.bool_)
        slot = np.minimum(np.searchsorted(self._forward_outermost, key), len(self._forward_outermost) - 1)
        return np.asarray(self._forward_outermost[slot] == key)

    def is_forward_stack(self, stack: Int32) -> Mask:
        """A mask of the stacks that are of operators in a forward call."""
        return self._is_forward_stack[stack]

    def _add(self, rows: Operators, forward_id: Int32) -> None:
        calls = np.flatnonzero((rows.scope == FUNCTION) & (rows.sequence >= 0))
        outermost = np.zeros(len(rows), np.int32)
        if len(calls):
            outermost[calls] = self._keys.numbers(keys(rows, find_outermost(rows)[0][calls]))
        for thread, chosen in _known_threads(forward_id[rows.thread[calls]]):
            self._of_thread(thread, rows.sequence[calls[chosen]]).add(rows, calls[chosen], outermost)
        nodes = np.flatnonzero((rows.scope == BACKWARD_FUNCTION) & (rows.node_sequence >= 0))
        for thread, chosen in _known_threads(rows.node_thread[nodes]):
            sequence = rows.node_sequence[nodes[chosen]]
            kind = self._node_kinds[rows.name[nodes[chosen]]]
            self._of_thread(thread, sequence).refer(sequence, kind, rows.start_ns[nodes[chosen]])

    def _of_thread(self, thread: int, sequence: Int64) -> Calls:
        calls = self._calls.get(thread)
        if calls is None:
            unseen = UnseenNodes(self._pauses) if len(self._pauses) else None
            calls = Calls(max(0, int(sequence.min()) - EARLIER_NUMBERS), self._room, unseen)
            if len(self._calls) < MOST_THREADS:
                self._calls[thread] = calls
        return calls

    def _look_up(self, thread: Int32, sequence: Int64) -> tuple[Int32, Int8, Int32, Int64]:
        """Returns for each node its call's stack, why there is none, and the node in which the call ran."""
        stack = np.full(len(thread), _NO_CALL, np.int32)
        own_thread = np.full(len(thread), -1, np.int32)
        own_sequence = np.full(len(thread), -1, np.int64)
        for key, rows in _known_threads(thread):
            calls = self._calls.get(key)
            if calls is None:
                continue
            slots = sequence[rows] - calls.base
            inside = (slots >= 0) & (slots < len(calls.stack)) & (sequence[rows] >= 0)
            known, slots = rows[inside], slots[inside]
            stack[known] = calls.stack[slots]
            if calls.node_thread is not None and calls.node_sequence is not None:
                own_thread[known] = calls.node_thread[slots] - _NODE
                own_sequence[known] = calls.node_sequence[slots]
        found = np.where(stack == _NO_CALL, NoLine.FORWARD_NOT_RECORDED, NoLine.FORWARD_WITHOUT_LINE).astype(
            np.int8
        )
        found[stack == _OF_MANY] = NoLine.NODE_WITHOUT_OPERATOR
        return np.maximum(stack - _STACK, -1), found, own_thread, own_sequence


def first_known(ids: Int32, otherwise: Int32) -> Int32:
    """Returns the ids, with those of the other column where they are -1."""
    return np.where(ids >= 0, ids, otherwise)


def _known_threads(thread: Int32) -> Iterator[tuple[int, Rows]]:
    """Yields each thread above 0 with its rows."""
    return ((key, rows) for key, rows in each_thread(thread) if key > 0)


def _longer(column: npt.NDArray[Number], size: int) -> npt.NDArray[Number]:
    longer = np.zeros(size, column.dtype)
    longer[: len(column)] = column
    return longer
