// Real tables of the same blocks that a terminal shows: sorted and filtered, each row marked if it is selected.

import { classes, element, reveal } from "./nodes.js";
import { bareName, count, sortKey } from "./words.js";

/**
 * @typedef {import("./data.js").Table} Table
 * @typedef {import("./data.js").Column} Column
 * @typedef {import("./data.js").Block} Block
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {{row: HTMLTableRowElement, cells: string[], place: number, name: string, more: HTMLTableRowElement[]}} Row
 */

const NAMES = new Set(["operator", "name", "function", "kernel", "hottest operator there"]);
const FILTERED = 12; // rows from which a table has a filter
const TALL = 20; // rows from which a table scrolls on its own
const UNBROKEN = 36, LONG = 72; // letters of a column that is never broken into lines; that may have many lines
const OPTIONAL = 3; // rank from which a narrow window leaves a column out, as a narrow terminal does

/**
 * A table with its notes.
 * @param {Table} table
 * @param {Selection} selection
 * @param {string} label
 * @returns {HTMLElement[]}
 */
export function tableOf(table, selection, label) {
  const files = partOf(table);
  const size = table.columns[0]?.cells.length ?? 0;
  const looks = table.columns.map(lookOf);
  /** @type {Row[]} */
  const rows = [];
  for (let at = 0; at < size; at++) rows.push(rowOf(table, at, selection, files[at] ?? "", looks, rows[at - 1]));
  const body = element("tbody");
  const parts = partRows(table);
  /** @param {Row[]} shown @param {boolean} inParts */
  const fill = (shown, inParts) => {
    body.replaceChildren(...shown.flatMap((row) => {
      const before = inParts ? parts.get(rows.indexOf(row)) : undefined;
      return [...(before ? [before] : []), row.row, ...row.more];
    }));
  };
  fill(rows, true);
  const head = element("tr");
  table.columns.forEach((column, at) => head.append(headOf(column, () => sort(at))));
  /** @param {number} at */
  const sort = (at) => fill(sorted(rows, at, head), false);
  selection.watch(() => mark(rows, selection));
  const made = element("table", { "aria-label": label }, element("thead", {}, head), body);
  const tall = size >= TALL ? "scroller tall" : "scroller";
  const scroller = element("div", { class: tall, tabindex: "0", role: "region", "aria-label": label }, made);
  const notes = table.notes.map((note) => element("p", { class: "note" }, note));
  return size >= FILTERED ? [filterOf(rows, label), scroller, ...notes] : [scroller, ...notes];
}

/**
 * The classes of a column's cells.
 * @param {Column} column
 */
function lookOf(column) {
  const longest = column.cells.reduce((most, cell) => Math.max(most, cell.length), 0);
  const wraps = longest <= (column.shows === "line" ? LONG : UNBROKEN) ? "whole" : longest > LONG ? "long" : "named";
  const kind = column.right ? "right" : column.shows === "source" ? "source" : wraps;
  return `${kind} ${isExtra(column)} ${classes(column.style)}`.replace(/ +/g, " ").trim();
}

/** @param {Column} column */
function isExtra(column) {
  return column.rank >= OPTIONAL ? "extra" : "";
}

/**
 * @param {Table} table
 * @param {number} at
 * @param {Selection} selection
 * @param {string} file
 * @param {string[]} looks of the columns
 * @param {Row | undefined} before the row above
 * @returns {Row}
 */
function rowOf(table, at, selection, file, looks, before) {
  let place = -1, name = "";
  const cells = table.columns.map((column, number) => {
    const text = column.cells[at];
    const look = `${looks[number]} ${classes(column.styles[at] ?? "")}`.trim();
    const cell = element("td", look ? { class: look } : {});
    if (column.shows === "line" && !text) place = before?.place ?? -1; // the same line as above
    if (column.shows === "line" && selection.placeOf(text, file) >= 0) {
      place = selection.placeOf(text, file);
      cell.append(pick(text, () => selection.toggle("line", selection.texts[place])));
    } else if (NAMES.has(column.shows) && text && text !== "-" && !name) {
      name = bareName(text);
      cell.append(pick(text, () => selection.toggle("name", name)));
    } else if (text.length > LONG && !look.startsWith("source")) {
      cell.append(element("div", { class: "clamp", title: text }, text));
    } else {
      cell.textContent = text;
    }
    return cell;
  });
  const texts = table.columns.map((column) => column.cells[at]);
  const more = (table.below?.[at] ?? []).map((line) => (
    element("tr", { class: "below" }, element("td", { colspan: String(cells.length) }, line))));
  return { row: element("tr", {}, ...cells), cells: texts, place, name, more };
}

/**
 * @param {string} text
 * @param {() => void} choose
 */
export function pick(text, choose) {
  return element("button", { type: "button", class: "pick", click: choose }, text);
}

/**
 * The title of the part that each row is in.
 * @param {Table} table
 */
function partOf(table) {
  return table.parts.flatMap(([title, , rows]) => Array(rows).fill(title));
}

/**
 * Rows with the titles of parts, by the row they are before.
 * @param {Table} table
 */
function partRows(table) {
  /** @type {Map<number, HTMLTableRowElement>} */
  const found = new Map();
  let first = 0;
  for (const [title, said, rows] of table.parts) {
    const text = said ? `${title}  (${said})` : title;
    const cell = element("td", { colspan: String(table.columns.length) }, text);
    found.set(first, element("tr", { class: "part" }, cell));
    first += rows;
  }
  return found;
}

/**
 * @param {Column} column
 * @param {() => void} sort
 */
function headOf(column, sort) {
  const about = column.means.replaceAll("`", "").replaceAll("*", "");
  const button = element("button", { type: "button", click: sort, ...(about ? { title: about } : {}) }, column.title);
  const look = `${column.right ? "right " : ""}${isExtra(column)}`.trim();
  return element("th", { scope: "col", ...(look ? { class: look } : {}) }, button);
}

/**
 * The rows sorted by a column, and the other way round the next time. Rows without a figure come last.
 * @param {Row[]} rows
 * @param {number} at
 * @param {HTMLTableRowElement} head
 */
function sorted(rows, at, head) {
  const title = head.cells[at];
  const keys = new Map(rows.map((row) => [row, sortKey(row.cells[at])]));
  const numbers = rows.some((row) => typeof keys.get(row) === "number");
  const before = title.getAttribute("aria-sort");
  const down = before ? before === "ascending" : numbers;
  for (const other of head.cells) other.removeAttribute("aria-sort");
  title.setAttribute("aria-sort", down ? "descending" : "ascending");
  return rows.toSorted((one, two) => {
    const [left, right] = [keys.get(one) ?? null, keys.get(two) ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    if (typeof left !== typeof right) return typeof left === "number" ? -1 : 1;
    const order = left < right ? -1 : left > right ? 1 : 0;
    return down ? -order : order;
  });
}

/**
 * @param {Row[]} rows
 * @param {string} label
 */
function filterOf(rows, label) {
  const left = element("span", { class: "dim", role: "status" });
  const input = element("input", { type: "search", placeholder: "filter rows", "aria-label": `filter ${label}` });
  input.addEventListener("input", () => {
    const sought = input.value.toLowerCase();
    let shown = 0;
    for (const { row, cells, more } of rows) {
      const fits = cells.some((cell) => cell.toLowerCase().includes(sought));
      for (const each of [row, ...more]) each.hidden = !fits;
      shown += Number(fits);
    }
    left.textContent = sought ? ` ${count(shown)} of ${count(rows.length)} rows` : "";
  });
  return element("p", { class: "filter" }, input, left);
}

/**
 * @param {Row[]} rows
 * @param {Selection} selection
 */
function mark(rows, selection) {
  const text = selection.chosen?.kind === "text" ? selection.chosen.value.toLowerCase() : "";
  for (const { row, cells, place, name } of rows) {
    const fits = text ? cells.some((cell) => cell.toLowerCase().includes(text)) : selection.has(name, place);
    row.classList.toggle("marked", fits);
  }
  reveal(rows.map(({ row }) => row));
}

/**
 * Blocks one below the other.
 * @param {Block[]} blocks
 * @param {Selection} selection
 * @param {string} label of tables without a heading
 * @returns {HTMLElement[]}
 */
export function blocksOf(blocks, selection, label) {
  /** @type {HTMLElement[]} */
  const made = [];
  let title = label;
  for (const block of blocks) {
    if (block.kind === "table") {
      made.push(...tableOf(block, selection, title));
    } else if (block.kind === "heading") {
      title = block.text;
      const said = block.said ? [element("small", {}, block.said)] : [];
      made.push(element("h3", {}, block.text, ...said));
    } else if (block.kind === "facts") {
      const facts = block.facts.map(([text, style]) => element("li", { class: classes(style) }, text));
      made.push(element("ul", { class: "facts" }, ...facts));
    } else if (block.kind === "paragraph") {
      made.push(element("p", { class: `note ${classes(block.style)}`.trim() }, block.text));
    } else {
      made.push(element("p", {}, `${block.label} ${block.text}`));
    }
  }
  return made;
}
