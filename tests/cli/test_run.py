from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe import __version__
from perfprobe.cli import COMMANDS, main, module
from perfprobe.tables import storage
from tests.collect.runs import Outcome, command, finish, perfprobe, start, where

SCRIPT = "import sys\nprint('ran', sys.argv[1:])\nsys.exit(3)\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def recordings(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*.perfprobe")) if path.is_file()]


def test_the_report_is_printed_to_standard_error(script: Path) -> None:
    outcome = perfprobe(["train.py", "--top", "x"], script.parent)
    assert outcome.status == 3
    assert outcome.out == b"ran ['--top', 'x']\n"
    (recording,) = recordings(script.parent)
    assert recording.name.startswith("train-")
    assert outcome.said == (where(recording),)
    report = " ".join(outcome.err.decode().lower().split())
    assert "no operators" in report
    assert "never imported torch" in report
    assert re.search(r"this report took [\d.]+ m?s of cpu time\.", report)
    assert storage.read(recording).fact("stop", "exit") == "exit 3"


def test_run_is_the_default_command(script: Path) -> None:
    for words in (
        ["run", "-q", "train.py"],
        ["-q", "./train.py"],
        ["-q", "-m", "train"],
        ["-q", "--", "train.py"],
    ):
        outcome = perfprobe(words, script.parent)
        assert (outcome.status, outcome.out, outcome.err) == (3, b"ran []\n", b"")
    assert len(recordings(script.parent)) == 4


def test_a_script_named_like_a_command_runs_if_given_as_a_path(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("print('the script')")
    assert perfprobe(["-q", "./report"], tmp_path).out == b"the script\n"
    assert perfprobe(["run", "-q", "report"], tmp_path).out == b"the script\n"


def test_the_programs_output_comes_before_the_report(tmp_path: Path) -> None:
    (tmp_path / "talks.py").write_text("print('the program talks')\n")
    words = [sys.executable, "-m", "perfprobe", "talks.py"]
    done = subprocess.run(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    first, second, *_ = done.stdout.splitlines()
    assert first == b"the program talks"
    assert second.startswith(b"talks.py ")


def test_json_is_written_after_the_run(script: Path) -> None:
    words = ["-q", "--json", "out.json", "--group", "op", "--focus", "mm", "-o", "a.perfprobe", "train.py"]
    outcome = perfprobe(words, script.parent)
    assert outcome.status == 3
    document = json.loads((script.parent / "out.json").read_text())
    assert (document["view"]["group"], document["view"]["focus"]) == ("op", "mm")
    assert document["schema"] == 1
    assert document["meta"]["program"]["argv"] == ["train.py"]


@pytest.mark.parametrize(("options", "shown"), [([], "***"), (["--keep-argv"], "S3CR3T")])
def test_secrets_in_arguments_are_masked(script: Path, options: list[str], shown: str) -> None:
    """The program gets the secret. Recording, report and JSON file contain it only on request."""
    words = [*options, "--json", "run.json", "-o", "run.perfprobe"]
    outcome = perfprobe([*words, "train.py", "--api-key", "S3CR3T", "--lr", "1"], script.parent)
    assert outcome.out == b"ran ['--api-key', 'S3CR3T', '--lr', '1']\n"
    recording = script.parent / "run.perfprobe"
    assert storage.read(recording).texts("program", "argv") == ["train.py", "--api-key", shown, "--lr", "1"]
    written = outcome.err + recording.read_bytes() + (script.parent / "run.json").read_bytes()
    assert (b"S3CR3T" in written) == (shown == "S3CR3T")


def test_only_the_user_can_read_a_recording(script: Path) -> None:
    perfprobe(["-q", "-o", "run.perfprobe", "train.py"], script.parent)
    assert stat.S_IMODE((script.parent / "run.perfprobe").stat().st_mode) == 0o600


def test_a_planted_link_is_not_followed(script: Path) -> None:
    victim = script.parent / "victim"
    victim.write_text("precious")
    for name in ("run.json", "run.dot"):
        (script.parent / name).symlink_to(victim)
    perfprobe(["-q", "--json", "run.json", "--callgraph", "run.dot", "train.py"], script.parent)
    assert victim.read_text() == "precious"
    assert json.loads((script.parent / "run.json").read_bytes())["schema"] == 1


def test_a_program_may_change_folder_and_environment(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, sys\n"
        "os.makedirs('elsewhere'); os.chdir('elsewhere')\n"
        "sys.path[:] = []; sys.modules.pop('json', None)\n"
        "os.environ.clear(); os.environ['PYTHONPATH'] = '/nowhere'\n"
    )
    (tmp_path / "numpy.py").write_text("raise SystemExit('the report must not import what lies around')\n")
    outcome = perfprobe(["-o", "run.perfprobe", "train.py"], tmp_path)
    assert outcome.status == 0
    assert b"no operators" in outcome.err.lower()
    assert storage.read(tmp_path / "run.perfprobe").complete


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ([], 2, "there is no script to run; see `python -m perfprobe --help`"),
        (["-m"], 2, "-m needs the name of a module"),
        (["-c"], 2, "-c needs code to run"),
        (["--top", "x", "train.py"], 2, "argument --top: 'x' is not a whole number, 0 or more; see"),
        (["--sort", "best", "train.py"], 2, "argument --sort: invalid choice: 'best'"),
        (["--xyzzy", "train.py"], 2, "there is no option: --xyzzy; see `perfprobe run --help all`"),
        (
            ["--focus", "a(", "train.py"],
            2,
            "not a regular expression (missing ), unterminated subpattern at position 1)",
        ),
        (["--group", "file", "train.py"], 2, "argument --group: invalid choice: 'file'"),
        (["--top"], 2, "argument --top: expected one argument"),
        (["--python", "on", "train.py"], 2, "argument --python: invalid choice: 'on'"),
        (["--buffer", "1M", "train.py"], 2, "a buffer of 1048576 bytes is too small; give it 4 MiB or more"),
        (["--buffer", "lots", "train.py"], 2, "argument --buffer: 'lots' is not a size such as 32M"),
        (["-o", "taken.perfprobe", "train.py"], 2, "the recording exists already: "),
        (["-o", "folder", "train.py"], 2, "this is a folder: "),
        (
            ["-o", "absent/x.perfprobe", "train.py"],
            4,
            "the recording cannot be written (No such file or directory)",
        ),
        (["-o", "/proc/x.perfprobe", "train.py"], 4, "the recording cannot be written ("),
        (["--json", "absent/x.json", "train.py"], 4, "the folder to write into does not exist: "),
        (["--json", "folder", "train.py"], 2, "the file to write is a folder: folder"),
        (
            ["taken.perfprobe"],
            2,
            "this is a recording, not a script: taken.perfprobe; did you mean `perfprobe ",
        ),
        (["report", "absent.perfprobe"], 2, "there is no such file: absent.perfprobe"),
        (["report", "train.py"], 3, "neither a perfprobe recording, a trace nor a .pstats file: train.py"),
        (["report", "folder"], 3, "cannot read the recording"),
        (["report", "absent", "b"], 2, "there is no such file: absent"),
        (["report", "--top=-1", "x"], 2, "argument --top: '-1' is not a whole number"),
    ],
)
def test_bad_input_is_reported_and_the_program_does_not_run(
    words: list[str],
    status: int,
    says: str,
    script: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(script.parent)
    (script.parent / "folder").mkdir()
    (script.parent / "taken.perfprobe").write_text("precious")
    assert main(words) == status
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"perfprobe: {says}")
    assert (script.parent / "taken.perfprobe").read_text() == "precious"
    assert recordings(script.parent) == [script.parent / "taken.perfprobe"]


def test_a_script_that_does_not_exist_is_reported_as_python_does(tmp_path: Path) -> None:
    outcome, plain = (run(["nothing.py", "1"], tmp_path) for run in (perfprobe, unrecorded))
    assert plain.err
    assert outcome == plain


def unrecorded(words: list[str], folder: Path) -> Outcome:
    return finish(start(words, folder))


def test_wrong_words_are_refused(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    words = [sys.executable, "-m", "perfprobe", "-"]
    done = subprocess.run(words, cwd=tmp_path, stdin=theirs, capture_output=True, check=False)
    os.close(ours)
    os.close(theirs)
    said = b"perfprobe: interactive input cannot be recorded: -; write it to a file, or pipe it in\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", said)


def test_the_newest_recording_is_reported(script: Path) -> None:
    assert command(["report"], script.parent).status == 3
    for name in ("old", "new"):
        perfprobe(["-q", "-o", f"{name}.perfprobe", "train.py", name], script.parent)
    os.utime(script.parent / "old.perfprobe", (1, 1))
    outcome = perfprobe(["report"], script.parent, {"COLUMNS": "90"})
    assert (outcome.status, outcome.err) == (0, b"")
    text = outcome.out.decode()
    assert "train.py new" in text
    assert max(map(len, text.splitlines())) <= 90
    document = json.loads(command(["report", "--json"], script.parent).out)
    assert document["meta"]["program"]["argv"] == ["train.py", "new"]


@pytest.mark.parametrize("size_bytes", [0, 5, 12, 100])
def test_a_truncated_recording_is_reported(size_bytes: int, script: Path) -> None:
    perfprobe(["-q", "-o", "a.perfprobe", "train.py"], script.parent)
    whole = (script.parent / "a.perfprobe").read_bytes()
    (script.parent / "a.perfprobe").write_bytes(whole[:size_bytes])
    outcome = command(["report", "a.perfprobe"], script.parent)
    assert b"Traceback" not in outcome.err
    if size_bytes < 12:
        assert (outcome.status, len(outcome.said)) == (3, 1)
    else:
        assert outcome.status == 0


def test_a_closed_pipe_is_no_error(script: Path) -> None:
    perfprobe(["-q", "-o", "a.perfprobe", "train.py"], script.parent)
    command = (
        f"'{sys.executable}' -m perfprobe report a.perfprobe --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], cwd=script.parent, capture_output=True, check=True)
    assert done.stdout == b"{0\n"
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("where", "why"), [("> /dev/full", b"No space left on device"), (">&-", b"it is closed")]
)
def test_an_unwritable_output_is_reported(where: str, why: bytes, script: Path) -> None:
    perfprobe(["-q", "-o", "a.perfprobe", "train.py"], script.parent)
    command = f"'{sys.executable}' -m perfprobe report a.perfprobe {where}"
    done = subprocess.run(["bash", "-c", command], cwd=script.parent, capture_output=True, check=False)
    assert done.returncode == 4
    assert done.stderr == b"perfprobe: standard output cannot be written: " + why + b"\n"


def test_characters_missing_in_the_output_encoding_are_replaced(script: Path) -> None:
    perfprobe(["-q", "-o", "a.perfprobe", "train.py"], script.parent)
    outcome = perfprobe(["report", "--full", "a.perfprobe"], script.parent, {"PYTHONIOENCODING": "ascii"})
    assert (outcome.status, outcome.err) == (0, b"")
    assert b"train.py | wall" in outcome.out


def test_each_rank_has_its_own_name_and_only_the_first_reports(script: Path) -> None:
    outcomes = []
    for rank in ("0", "1"):
        words = ["-m", "perfprobe", "-o", "out.perfprobe", "--json", "out.json", "train.py"]
        variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2"}
        outcomes.append(finish(start(words, script.parent, variables)))
    paths = [script.parent / f"out-rank{rank}.perfprobe" for rank in (0, 1)]
    assert recordings(script.parent) == paths
    assert sorted(script.parent.glob("*.json")) == [script.parent / f"out-rank{rank}.json" for rank in (0, 1)]
    assert b"no operators" in outcomes[0].err.lower()
    assert outcomes[1].err == b""
    assert [outcome.said for outcome in outcomes] == [(where(path),) for path in paths]
    assert storage.read(paths[1]).fact("rank") == {"rank": 1, "local_rank": 1, "world_size": 2}
    named = perfprobe(["-q", "train.py"], script.parent, {"RANK": "1", "WORLD_SIZE": "2"})
    assert f"-{os.uname().nodename}-rank1-" in named.said[0]


def test_help_and_version(tmp_path: Path) -> None:
    assert perfprobe(["--version"], tmp_path).out == f"perfprobe {__version__}\n".encode()
    for words in (["--help"], ["run", "-h"]):
        text = perfprobe(words, tmp_path).out.decode()
        assert "[run] [OPTIONS] script.py" in text
        assert "examples:" in text
        assert all(f"\n  {name} " in text for name in COMMANDS)
        assert max(map(len, text.splitlines())) <= 80
    for name in COMMANDS:
        assert "examples:" in module(name).parser().format_help()
    assert "--json" in perfprobe(["report", "--help"], tmp_path).out.decode()


def test_files_in_the_current_folder_are_not_imported(script: Path) -> None:
    for name in ("argparse", "json", "perfprobe_core", "typing", "re", "_core"):
        (script.parent / f"{name}.py").write_text("raise SystemExit('wrong module')\n")
    assert perfprobe(["-q", "train.py"], script.parent).out == b"ran []\n"


def test_few_modules_are_loaded_before_the_program(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import sys; print(*sys.modules)")
    plain = set(finish(start(["-m", "plain"], tmp_path)).out.decode().split())
    loaded = set(perfprobe(["-q", "-m", "plain"], tmp_path).out.decode().split()) - plain
    foreign = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - {"perfprobe"}
    assert foreign == set()
    heavy = {
        "typing",
        "dataclasses",
        "inspect",
        "ast",
        "token",
        "tokenize",
        "subprocess",
        "logging",
        "random",
    }
    assert not loaded & (heavy | {"multiprocessing", "threading", "socket", "shutil", "tempfile", "copy"})
