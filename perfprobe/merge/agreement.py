"""Compares signatures of the observer and of the autograd profiler: do they describe the same inputs?"""

from __future__ import annotations

from perfprobe.support.pattern import pattern

LEFT_OUT = "torch.profiler does not record strings, devices, generators and long lists"
LISTS_LEFT_OUT = "torch.profiler does not record lists of optional tensors"
NOT_PLAIN = "torch.profiler does not describe subclasses, nested tensors and symbolic sizes"
INTEGERS = "integers with too many values are written as int, from a different call on in each source"

_NOT_PLAIN = (":subclass", "[nested]", "[symbolic]")
_WORD = pattern(r'(?:[^\s"]|"(?:\\.|[^"\\])*")+')
_NOT_RECORDED = pattern(r'(?:\w+=)?(?:".*"|[a-z]+(?::\d+)?|[A-Z]\w*|\(.*\))')
_UNNAMED = pattern(r'".*"|(?!int$|float$)[a-z]+(?::\d+)?')  # an unknown string or device
_INTEGER = pattern(r"(\w+)=(-?\d+|int)")
_LONGEST_LIST = 30


def reason(observer: str, autograd: str) -> str | None:
    """Returns why the texts differ; "" if they are equal, None if no reason is known."""
    if observer != autograd and any(mark in observer for mark in _NOT_PLAIN):
        return NOT_PLAIN
    ours, theirs = _WORD.findall(observer), _WORD.findall(autograd)
    found = ""
    at = 0
    for word in ours:
        other = theirs[at] if at < len(theirs) else ""
        if word == other:
            at += 1
            continue
        why, both = _word_reason(word, other)
        if why is None:
            return None
        found = found or why
        at += both
    return found if at == len(theirs) else None


def _word_reason(word: str, other: str) -> tuple[str | None, bool]:
    """Returns why the profiler's word differs or is missing, and whether `other` stands for this word."""
    name, equals, value = word.rpartition("=")
    if other == "(?)" and value.startswith("("):
        return LISTS_LEFT_OUT, True
    if (equals and other == f"{name}=?") or (other == "-" and _UNNAMED.fullmatch(word)):
        return LEFT_OUT, True
    if _are_integers(word, other):
        return INTEGERS, True
    left_out = equals and _NOT_RECORDED.fullmatch(word) and _is_left_out(value)
    return (LEFT_OUT if left_out else None), False


def _are_integers(word: str, other: str) -> bool:
    """Whether one is an integer's type and the other its value."""
    ours, theirs = _INTEGER.fullmatch(word), _INTEGER.fullmatch(other)
    return bool(ours and theirs and ours[1] == theirs[1] and "int" in (ours[2], theirs[2]))


def _is_left_out(value: str) -> bool:
    if value.startswith("("):
        return value.count(",") >= _LONGEST_LIST
    return value not in ("True", "False", "float", "int")
