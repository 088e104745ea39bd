"""The file of measurements is written and read back, and other files with its name are refused."""

import json
import math
import os
import random
from pathlib import Path
from typing import Any

import pytest

from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.tables import measured_file
from tests import encoding
from tests.build import Program, op
from tests.report.measured import measured

KINDS = ("below ceiling", "element-rate-bound")


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "run.measurements.json")
    measured_file.write(name, measured(), "4711 1")
    return name


def changed(path: str, *keys: str | int, value: Any) -> None:
    """Puts a value into the document."""
    document = json.loads(Path(path).read_text())
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    Path(path).write_text(json.dumps(document))


def test_measurements_are_read_back(path: str) -> None:
    assert measured_file.read(path, "4711 1", KINDS) == measured()
    assert os.listdir(os.path.dirname(path)) == ["run.measurements.json"]


def test_calls_not_rebuilt_are_in_the_document(path: str) -> None:
    document = json.loads(Path(path).read_text())
    assert document["schema"] == 1
    (loss,) = document["losses"]
    assert (loss["source"], loss["count"]) == ("bench", 3)
    assert "mine::window f32[8,16]: not rebuilt" in loss["reason"]


def test_measurements_of_another_recording_are_refused(path: str) -> None:
    for identity in ("4711 2", None):
        with pytest.raises(InputError, match="belong to another recording"):
            measured_file.read(path, identity, KINDS)


def test_recordings_with_one_name_are_distinguished(tmp_path: Path) -> None:
    def identity(**meta: Any) -> str:
        program = Program(**meta)
        program.run(op("aten::mm", 0, 10))
        return measured_file.identity(program.recording(tmp_path))

    first = identity(program={"pid": 1}, start={"monotonic_ns": 5})
    assert first == identity(program={"pid": 1}, start={"monotonic_ns": 5})
    assert len({first, identity(program={"pid": 2}, start={"monotonic_ns": 5}), identity()}) == 3


def test_fields_of_later_versions_are_ignored(path: str) -> None:
    changed(path, "tables", "measurements", 0, "moon_phase", value={"full": True})
    changed(path, "tables", "others", value=[])
    assert measured_file.read(path, "4711 1", KINDS) == measured()


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("schema",), 2),
        (("meta",), []),
        (("tables", "measurements"), {}),
        (("tables", "measurements"), None),
        (("tables", "measurements", 0), "text"),
        (("tables", "measurements", 0, "wanted"), None),
        (("tables", "measurements", 0, "wanted", "threads"), 2.5),
        (("tables", "measurements", 0, "wanted", "threads"), True),
        (("tables", "measurements", 0, "wanted", "operator"), "x" * (measured_file.LONGEST_TEXT + 1)),
        (("tables", "measurements", 0, "rotating", "value"), "12"),
        (("tables", "measurements", 0, "rotating", "value"), math.nan),
        (("tables", "measurements", 0, "rotating", "value"), 10**400),
        (("tables", "measurements", 0, "rotating"), {"value": 1, "low": 1}),
        (("tables", "measurements", 0, "verdict", "kind"), "marvellous"),
        (("tables", "measurements", 0, "verdict", "modifiers"), "serial"),
        (("tables", "measurements", 0, "nested"), [["copy_", 0.5, 1]]),
        (("meta", "notes"), [None]),
    ],
)
def test_wrong_values_are_refused(keys: tuple[str | int, ...], value: Any, path: str) -> None:
    changed(path, *keys, value=value)
    with pytest.raises(InputError):
        measured_file.read(path, "4711 1", KINDS)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"schema": 1, "meta": {"identity": "4711 1"}, "tables": {"measurements": ' + b"[" * 100_000,
        b'{"schema": ' + b"1" * 10_000 + b"}",
        b" " * (measured_file.MOST_BYTES + 1),
    ],
)
def test_other_documents_are_refused(data: bytes, path: str) -> None:
    Path(path).write_bytes(data)
    with pytest.raises(InputError):
        measured_file.read(path, "4711 1", KINDS)


def test_a_damaged_file_is_read_or_refused(path: str) -> None:
    whole = Path(path).read_bytes()
    chance = random.Random(1)
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 3)] = chance.choice(
                [b"", b"}", b"-1", b'"', b"null", b"1e999", b"["]
            )
        encoding.replace(Path(path), bytes(data))
        try:
            measured_file.read(path, "4711 1", KINDS)
        except InputError:
            continue


def test_missing_and_special_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "absent", "."):
        with pytest.raises(InputError):
            measured_file.read(str(tmp_path / name), "4711 1", KINDS)


def test_a_write_error_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(EnvironmentLack, match="cannot be written"):
        measured_file.write(str(tmp_path / "taken"), measured(), None)
    with pytest.raises(EnvironmentLack, match="cannot be written"):
        measured_file.write(str(tmp_path / "absent" / "x.json"), measured(), None)
    assert os.listdir(tmp_path) == ["taken"]
