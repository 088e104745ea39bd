from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import traceback
import zipfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from perfprobe.collect.imports import ImportWatch

NAME = "watched_by_perfprobe"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    yield tmp_path
    sys.modules.pop(NAME, None)
    assert sys.meta_path == before


class Seen:
    """Counts callbacks. Each must find the module complete and looking like an ordinary one."""

    def __init__(self) -> None:
        self.modules: list[ModuleType] = []
        self.watch = ImportWatch(NAME, self)

    def __call__(self, module: ModuleType) -> None:
        assert sys.modules[NAME] is module
        assert module.complete is True
        assert module.__spec__ is not None
        assert module.__loader__ is module.__spec__.loader
        assert "exec_module" not in vars(module.__spec__.loader)
        self.modules.append(module)

    def __enter__(self) -> Seen:
        self.watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.stop()


def write(folder: Path, text: str = "complete = True\n") -> None:
    (folder / f"{NAME}.py").write_text(text)
    importlib.invalidate_caches()


def test_the_callback_runs_once_after_the_import(folder: Path) -> None:
    write(folder, "import sys\nseen_early = complete_before = 'complete' in globals()\ncomplete = True\n")
    with Seen() as seen:
        module = importlib.import_module(NAME)
        importlib.import_module(NAME)
        importlib.reload(module)
        assert seen.watch not in sys.meta_path
    assert seen.modules == [module]


def test_several_callbacks_wait_for_one_module(folder: Path) -> None:
    write(folder)
    with Seen() as first, Seen() as second, Seen() as third:
        module = importlib.import_module(NAME)
        assert first.modules == second.modules == third.modules == [module]


def test_the_callback_runs_at_once_if_already_imported(folder: Path) -> None:
    write(folder)
    module = importlib.import_module(NAME)
    with Seen() as seen:
        assert seen.modules == [module]


def test_asking_for_the_spec_is_not_an_import(folder: Path) -> None:
    write(folder)
    with Seen() as seen:
        spec = importlib.util.find_spec(NAME)
        assert spec is not None
        assert type(spec.loader) is importlib.machinery.SourceFileLoader
        assert spec.loader.get_source(NAME) == "complete = True\n"
        assert seen.modules == []
        importlib.import_module(NAME)
    assert len(seen.modules) == 1


def test_a_missing_module_stays_missing() -> None:
    with Seen() as seen, pytest.raises(ModuleNotFoundError, match=NAME):
        importlib.import_module(NAME)
    assert seen.modules == []


def test_a_failing_import_fails_and_can_be_repeated(folder: Path) -> None:
    write(folder, "raise ValueError('on purpose')\n")
    with pytest.raises(ValueError, match="on purpose") as plain:
        importlib.import_module(NAME)
    with Seen() as seen:
        with pytest.raises(ValueError, match="on purpose") as watched:
            importlib.import_module(NAME)
        files = [[frame.filename for frame in traceback.extract_tb(e.tb)] for e in (plain, watched)]
        if sys.version_info >= (3, 11):
            assert files[0] == files[1]
        assert seen.modules == []
        write(folder, "complete = True  # fixed\n")
        importlib.import_module(NAME)
    assert len(seen.modules) == 1


def test_a_lazy_module_is_not_loaded(folder: Path) -> None:
    write(folder)
    with Seen() as seen:
        spec = importlib.util.find_spec(NAME)
        assert spec is not None
        assert spec.loader is not None
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        assert spec.loader is not None
        spec.loader.exec_module(module)
        importlib.util.find_spec("wave")
        assert seen.modules == []
        assert module.complete
    assert seen.modules == [module]


def test_a_module_from_a_zip_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(folder / "modules.zip", "w") as archive:
        archive.writestr(f"{NAME}.py", "import beside_perfprobe\ncomplete = True\n")
        archive.writestr("beside_perfprobe.py", "")
    monkeypatch.syspath_prepend(str(folder / "modules.zip"))
    with Seen() as seen:
        importlib.import_module(NAME)
    sys.modules.pop("beside_perfprobe")
    assert len(seen.modules) == 1


def test_an_import_that_bypasses_the_hook_is_noticed_at_the_next_import(folder: Path) -> None:
    write(folder)
    with Seen() as seen:
        spec = importlib.machinery.PathFinder.find_spec(NAME, [str(folder)])
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
        assert seen.modules == []
        importlib.util.find_spec("wave")
    assert seen.modules == [module]


def test_concurrent_imports_on_threads(folder: Path) -> None:
    write(folder, "import time\ntime.sleep(0.05)\ncomplete = True\n")
    with Seen() as seen:
        threads = [threading.Thread(target=importlib.import_module, args=(NAME,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seen.modules) == 1


def test_a_finder_that_calls_other_finders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Asking:
        def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
            others: list[Any] = [finder for finder in sys.meta_path if type(finder) is not Asking]
            monkeypatch.setattr(sys, "meta_path", others)
            return importlib.util.find_spec(name)

    write(folder)
    before = sys.meta_path
    with Seen() as seen:
        monkeypatch.setattr(sys, "meta_path", [sys.meta_path[0], Asking(), *sys.meta_path[1:]])
        importlib.import_module(NAME)
    monkeypatch.setattr(sys, "meta_path", before)
    seen.watch.stop()
    assert len(seen.modules) == 1
