"""Reads a page as a browser does, without one."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from perfprobe.results import Results
from perfprobe.support.view import View


class Page(HTMLParser):
    """What is in a page: elements with their attributes, and the text of scripts and style sheets."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._open = ""
        self.feed(text)
        data = next(
            script
            for script, (_, given) in zip(self.scripts, self.of("script"), strict=True)
            if "id" in given
        )
        self.whole = gzip.decompress(base64.b64decode(data))
        length = int.from_bytes(self.whole[:4], "little")
        self.head: dict[str, Any] = json.loads(self.whole[8 : 8 + length])
        self._first = 8 + length

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style"):
            (self.scripts if self._open == "script" else self.styles).append(data)
        self._open = ""

    def of(self, tag: str) -> list[tuple[str, dict[str, str | None]]]:
        """The elements of a kind."""
        return [each for each in self.elements if each[0] == tag]

    def column(self, place: dict[str, Any]) -> list[int]:
        """The numbers of a column."""
        kind = np.dtype(place["type"]).newbyteorder("<")
        found = np.frombuffer(self.whole, kind, place["length"], self._first + place["at"])
        return [int(each) for each in found]

    @property
    def policy(self) -> str:
        """Its Content-Security-Policy."""
        (found,) = [given["content"] for _, given in self.of("meta") if "http-equiv" in given]
        return found or ""

    def hashes(self, directive: str) -> list[str]:
        """The hashes that a directive of the policy allows."""
        return re.findall(rf"{directive} '(sha256-[^']+)'", self.policy)


def written(path: str, **view: Any) -> str:
    """The page of a recording."""
    return b"".join(Results(path).page(View(**view))).decode()


def page(path: str | Path, **view: Any) -> Page:
    """The same, read."""
    return Page(written(str(path), **view))
