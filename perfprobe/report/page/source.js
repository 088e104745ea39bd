// The program's own files, with what each line took beside it.

import { absent, element, legend, reveal, view } from "./nodes.js";
import { pick } from "./tables.js";
import { duration } from "./words.js";

/**
 * @typedef {import("./data.js").CodeFile} CodeFile
 * @typedef {import("./data.js").CodeLine} CodeLine
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {[HTMLTableRowElement, number, string][]} Marked
 */

const TITLES = ["operators", "Python", "GPU", "memory"];
const OPEN_FILES = 3; // files that are open at first

/**
 * @param {CodeFile[]} files
 * @param {string[]} bars
 * @param {Selection} selection
 * @returns {HTMLElement}
 */
export function sourceOf(files, bars, selection) {
  if (!files.length) return absent("source", "Source", "No line of the program was recorded.");
  const most = Math.max(1, ...files.flatMap((file) => file.lines.map(({ figures }) => (
    figures ? figures.self + figures.python : 0))));
  /** @type {Marked} */
  const rows = [];
  const made = files.map((file, at) => fileOf(file, at < OPEN_FILES, most, bars, selection, rows));
  selection.watch((chosen) => {
    for (const [row, place, text] of rows) {
      const sought = chosen?.kind === "text" && text.toLowerCase().includes(chosen.value.toLowerCase());
      row.classList.toggle("marked", sought || selection.has("", place));
    }
    reveal(rows.map(([row]) => row));
  });
  const kinds = [...bars, "python"];
  return view("source", "Source", "Time at each line of the program: operators that it called, in forward and in "
    + "backward, and Python itself.", legend(kinds, { python: "Python" }), ...made);
}

/**
 * @param {CodeFile} file
 * @param {boolean} open
 * @param {number} most
 * @param {string[]} bars
 * @param {Selection} selection
 * @param {Marked} rows
 */
function fileOf(file, open, most, bars, selection, rows) {
  const used = TITLES.map((_, at) => file.lines.some(({ figures }) => figures?.texts[at]));
  const head = element("tr", {}, element("th", { scope: "col", class: "right" }, "line"), element("th", { scope: "col" }, "time"),
    ...TITLES.filter((_, at) => used[at]).map((title) => element("th", { scope: "col", class: lookOfTitle(title) }, title)),
    ...(file.length ? [element("th", { scope: "col" }, "source")] : []));
  const body = element("tbody");
  let last = 0;
  for (const line of file.lines) {
    if (last && line.line > last + 1 && file.length) {
      const cell = element("td", { colspan: String(head.cells.length) }, "⋮");
      body.append(element("tr", { class: "gap" }, cell));
    }
    last = line.line;
    const row = lineOf(line, used, most, bars, selection, file.length > 0);
    rows.push([row, line.place ?? -1, line.text]);
    body.append(row);
  }
  const table = element("table", { class: "code", "aria-label": file.file }, element("thead", {}, head), body);
  const scroller = element("div", { class: "scroller code-box", tabindex: "0", role: "region", "aria-label": file.file }, table);
  const missing = file.missing ? [element("small", {}, `  ${file.missing}`)] : [];
  const summary = element("summary", {}, file.file, ...missing);
  return element("details", { class: "file", ...(open ? { open: true } : {}) }, summary, scroller);
}

/**
 * A narrow window has room for one figure beside the source.
 * @param {string} title
 */
function lookOfTitle(title) {
  return title === TITLES[0] ? "right" : "right extra";
}

/**
 * @param {CodeLine} line
 * @param {boolean[]} used
 * @param {number} most
 * @param {string[]} bars
 * @param {Selection} selection
 * @param {boolean} withText
 */
function lineOf(line, used, most, bars, selection, withText) {
  const { figures, place } = line;
  const number = String(line.line);
  const chosen = place === undefined ? number : pick(number, () => selection.toggle("line", selection.texts[place]));
  const cells = [element("td", { class: "number" }, chosen), element("td", {})];
  if (figures) {
    const parts = [...figures.bars.map((time, at) => /** @type {[string, number]} */ ([bars[at], time])),
      /** @type {[string, number]} */ (["python", figures.python])].filter(([, time]) => time > 0);
    const stack = element("span", { class: "stack", role: "img", "aria-label": parts.map(([name, time]) => (
      `${name} ${duration(time)}`)).join(", ") || "no time" });
    for (const [name, time] of parts) {
      const part = element("i", { title: `${name} ${duration(time)}` });
      part.style.width = `${(100 * time) / most}%`;
      part.style.background = `var(--${name})`;
      stack.append(part);
    }
    cells[1].append(stack);
  }
  const texts = TITLES.flatMap((_, at) => (used[at] ? [element("td", { class: lookOfTitle(TITLES[at]) }, figures?.texts[at] ?? "")] : []));
  const text = withText ? [element("td", { class: "source" }, line.text)] : [];
  return element("tr", {}, ...cells, ...texts, ...text);
}
