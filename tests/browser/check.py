"""The page in Chromium: `make page-test`. It is not part of the tests, as most machines have no browser.

It needs Playwright (`pip install playwright`) and Chromium (`apt install chromium`), and says so if they are
absent. PERFPROBE_AXE names axe-core's axe.min.js, which then looks for what some people cannot use.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.report.paged import Page, written
from tests.report.test_page import hostile, steps_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZES = ((1400, 900), (400, 800))
THEMES = ("light", "dark")
READY = ":root[data-state=ready]"
VIEWS = ["summary", "tables", "timeline", "flame", "source", "course", "callgraph"]
_REFUSED = "Content Security Policy"


def main() -> int:
    """Checks all pages. Returns the exit code."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("the page was not tested: no Chromium here (apt install chromium)")
        return 0
    try:
        playwright: Any = importlib.import_module("playwright.sync_api")
    except ImportError:
        print("the page was not tested: no Playwright here (pip install playwright)")
        return 0
    with tempfile.TemporaryDirectory() as folder, playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        faults = [fault for path, file in pages(Path(folder)) for fault in checked(opened, path, file)]
        faults += in_a_notebook(opened, Path(folder))
        opened.close()
    for fault in faults:
        print(fault)
    print(f"the page: {len(faults)} faults")
    return 1 if faults else 0


def pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """Recordings and their pages: usual, hostile, and the real traces that are there."""
    traces = os.environ.get("PERFPROBE_TRACES")
    found = sorted(Path(traces).glob("*.json.gz")) if traces else []
    made = []
    for name, program in (("usual", partial(steps_of, steps=4)), ("hostile", hostile)):
        (folder / name).mkdir()
        made.append(Path(program(folder / name).recording(folder / name).path))
    for number, path in enumerate([*made, *found, *map(Path, sys.argv[1:])]):
        file = folder / f"{number}.html"
        file.write_text(written(str(path)))
        yield str(path), file


def checked(browser: Any, path: str, file: Path) -> Iterator[str]:
    """What is wrong with a page, in both themes and sizes."""
    for theme in THEMES:
        for width, height in SIZES:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            said: list[str] = []
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("pageerror", lambda error, said=said: said.append(str(error)))
            page.on("dialog", lambda dialog, said=said: said.append(f"a dialog: {dialog.message}"))
            page.goto(file.as_uri())
            page.wait_for_selector(READY, timeout=20_000)
            faults = [*seen(page, theme), *(used(page) if width == SIZES[0][0] else ())]
            faults += said
            if width == SIZES[0][0] and theme == "light":
                faults += [*compared(page, path), *same_cells(page, file), *refused(page, said)]
            faults += accessible(page)
            page.close()
            yield from (f"{Path(path).name} {theme} {width}: {fault}" for fault in faults)


def in_a_notebook(browser: Any, folder: Path) -> Iterator[str]:
    """Whether the page works in a frame as notebooks show it, and its script reaches nothing outside."""
    text = (folder / "0.html").read_text().replace("&", "&amp;").replace('"', "&quot;")
    outer = folder / "notebook.html"
    outer.write_text(f'<!doctype html><iframe sandbox="allow-scripts" width=900 height=700 srcdoc="{text}">')
    page, said = browser.new_page(), []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(outer.as_uri())
    frame = page.frames[1]
    frame.wait_for_selector(READY, timeout=20_000)
    frame.click("#timeline td .pick")
    if not frame.query_selector_all("tr.marked"):
        yield "a choice marks nothing in a notebook"
    yield from said
    page.close()


def seen(page: Any, theme: str) -> Iterator[str]:
    """Whether all views are there, nothing is wider than the window, and the theme is the system's."""
    views = page.evaluate("[...document.querySelectorAll('main > section')].map((each) => each.id)")
    if [view for view in VIEWS if view in views] != [view for view in views if view != "absent"]:
        yield f"views {views}"
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        yield "it is wider than the window"
    if page.evaluate("document.documentElement.dataset.theme") != theme:
        yield "another theme"
    if page.evaluate("document.querySelectorAll('img[onerror], main script').length"):
        yield "HTML of the recording"


def used(page: Any) -> Iterator[str]:
    """Whether keys, clicks and the search do what they should."""
    for canvas in page.query_selector_all("#timeline canvas, #flame canvas"):
        moved(page, canvas)
    yield from chosen(page)
    title = page.query_selector("#summary th button")
    if title:
        title.click()
        if page.evaluate("document.querySelectorAll('#summary th[aria-sort]').length") != 1:
            yield "a table is not sorted"
    page.keyboard.press("/")
    page.keyboard.type("no such line")
    if page.query_selector_all("tr.marked"):
        yield "the search finds what is not there"
    page.fill("#sought", "")


def moved(page: Any, canvas: Any) -> None:
    """Zooms and moves a canvas by keys, and drags over a span of it."""
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    for key in "wwdas0":
        page.keyboard.press(key)
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 10, steps=3)
    page.mouse.up()


def chosen(page: Any) -> Iterator[str]:
    """Whether a choice marks rows, and is in the address."""
    choice = page.query_selector("#timeline td .pick")
    if choice is None:
        return
    choice.click()
    if not page.evaluate("location.hash") or not page.query_selector_all("tr.marked"):
        yield "a choice marks nothing"
    page.reload()
    page.wait_for_selector(READY)
    if not page.query_selector_all("#chosen .chip"):
        yield "the address does not keep the choice"
    yield from accessible(page)
    page.click("#chosen button")


def compared(page: Any, path: str) -> Iterator[str]:
    """Whether the tables of hot operators show the figures that JSON has."""
    rows = Results(path).document(View(top=100))["tables"].get("hotspots", [])
    titles = page.evaluate(
        "[...document.querySelectorAll('#section-operators thead th')].map((th) => th.textContent)"
    )
    if "calls" not in titles:
        return
    at = titles.index("calls")
    shown = page.evaluate(
        "[...document.querySelectorAll('#section-operators tbody tr')]"
        f".map((row) => row.cells[{at}]?.textContent)"
    )
    calls = [f"{row['calls']:,}" for row in rows]
    if shown != calls:
        yield f"calls {shown[:5]} differ from JSON's {calls[:5]}"


def same_cells(page: Any, file: Path) -> Iterator[str]:
    """Whether each table of a section shows the cells that the page's data has."""
    for section in Page(file.read_text()).head["sections"]:
        tables = [block for block in section["blocks"] if block["kind"] == "table"]
        shown = page.evaluate(
            f"[...document.querySelectorAll('#section-{section['name']} table')].map((table) =>"
            "[...table.tBodies[0].rows].filter((row) => !row.className.match(/part|below/))"
            ".map((row) => [...row.cells].map((cell) => cell.textContent)))"
        )
        cells = [[column["cells"] for column in table["columns"]] for table in tables]
        if shown != [[list(row) for row in zip(*columns, strict=True)] for columns in cells]:
            yield f"other cells in {section['name']}"


def refused(page: Any, said: list[str]) -> Iterator[str]:
    """Whether the policy stops a second script."""
    before = len(said)
    page.evaluate(
        "() => { const made = document.createElement('script'); made.textContent = 'window.ran = 1';"
        "document.body.append(made); }"
    )
    if page.evaluate("window.ran") is not None or not any(_REFUSED in text for text in said[before:]):
        yield "a second script runs"
    del said[before:]


def accessible(page: Any) -> Iterator[str]:
    """What axe-core finds, if it is there."""
    axe = os.environ.get("PERFPROBE_AXE")
    if not axe:
        return
    page.evaluate(Path(axe).read_text())  # as the debugger does it, which no policy stops
    found = page.evaluate("axe.run().then((result) => JSON.stringify(result.violations))")
    for each in json.loads(found):
        nodes = [re.sub(r"\s+", " ", node["html"])[:120] for node in each["nodes"][:2]]
        yield f"axe: {each['id']} ({len(each['nodes'])}): {nodes}"


if __name__ == "__main__":
    sys.exit(main())
