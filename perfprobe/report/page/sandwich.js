// What is selected, in the flame graph: who called it, and what ran there.

import { shortName } from "./lanes.js";
import { element } from "./nodes.js";
import { pick } from "./tables.js";

/**
 * @typedef {import("./rects.js").Rects} Rects
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {{text: string, kind: string, name: string, time: number}} Row
 */

const ROWS = 12;

/**
 * Two tables of what is selected; nothing if it is not in these rectangles.
 * @param {Rects} rects
 * @param {string[]} names
 * @param {string[]} kinds
 * @param {Selection} selection
 * @param {(weight: number) => string} textOf
 * @returns {HTMLElement[]}
 */
export function sandwichOf(rects, names, kinds, selection, textOf) {
  const { chosen } = selection;
  if (!chosen || rects.before.length) return [];
  const inside = new Uint8Array(rects.size), own = Float64Array.from(rects.length);
  /** @type {Map<string, Row>} */
  const callers = new Map(), ran = new Map();
  let whole = 0;
  for (let at = 0; at < rects.size; at++) {
    const above = rects.parent[at];
    if (above >= 0) own[above] -= rects.length[at];
    if (above >= 0 && inside[above]) {
      inside[at] = 1;
    } else if (selection.has(shortName(names[rects.name[at]], kinds[rects.kind[at]]), rects.line[at] - 1)) {
      inside[at] = 1;
      whole += rects.length[at];
      const caller = above >= 0 ? names[rects.name[above]] : "";
      add(callers, caller || "nothing that was recorded", "", caller, rects.length[at]);
    }
  }
  if (!whole) return [];
  for (let at = 0; at < rects.size; at++) {
    const [name, kind] = [names[rects.name[at]], kinds[rects.kind[at]]];
    if (inside[at] && own[at] > 0) add(ran, name, kind, shortName(name, kind), own[at]);
  }
  const title = element("h3", {}, chosen.value, element("small", {}, `${textOf(whole)} of what is above`));
  const both = element("div", { class: "beside" }, tableOfRows("What ran there", ran, selection, textOf),
    tableOfRows("Called from", callers, selection, textOf));
  return [title, both];
}

/**
 * @param {Map<string, Row>} rows
 * @param {string} text
 * @param {string} kind
 * @param {string} name
 * @param {number} time
 */
function add(rows, text, kind, name, time) {
  const key = `${kind} ${text}`;
  const row = rows.get(key) ?? { text, kind, name, time: 0 };
  row.time += time;
  rows.set(key, row);
}

/**
 * @param {string} title
 * @param {Map<string, Row>} rows
 * @param {Selection} selection
 * @param {(weight: number) => string} textOf
 */
function tableOfRows(title, rows, selection, textOf) {
  const most = [...rows.values()].sort((one, two) => two.time - one.time).slice(0, ROWS);
  const withKind = most.some(({ kind }) => kind);
  const titles = [withKind ? "own" : "for them", ...(withKind ? ["in"] : []), title];
  const head = element("tr", {}, ...titles.map((text, at) => element("th", { scope: "col", ...(at ? {} : { class: "right" }) }, text)));
  const body = most.map(({ text, kind, name, time }) => {
    const button = name ? pick(text, () => selection.toggle("name", name)) : text;
    return element("tr", {}, element("td", { class: "right bold" }, textOf(time)),
      ...(withKind ? [element("td", { class: "dim whole" }, kind)] : []), element("td", { class: "long" }, button));
  });
  const table = element("table", { "aria-label": title }, element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": title }, table);
}
