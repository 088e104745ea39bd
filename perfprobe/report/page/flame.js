// The flame graph: functions with what they called below them, operators as leaves.

import { Laned } from "./laned.js";
import { absent, choices, element, legend, view } from "./nodes.js";
import { Rects } from "./rects.js";
import { sandwichOf } from "./sandwich.js";
import { duration, size } from "./words.js";

/**
 * @typedef {import("./data.js").Known} Known
 * @typedef {import("./selection.js").Selection} Selection
 */

/** @type {Record<string, string>} */
const FLAME_KINDS = { faster2: "much faster", faster1: "faster", same: "hardly changed", slower1: "slower",
  slower2: "much slower", own: "the program's functions", library: "of libraries", inside: "outside of Python" };

const ABOUT = "The widest is what took most. Functions with what they called below them; operators are the leaves, "
  + "in backward below the Python that called it.";

/**
 * @param {Known} known
 * @param {Selection} selection
 * @returns {HTMLElement}
 */
export function flameOf(known, selection) {
  const { trees, names, kinds, missing } = known.head.flames;
  if (!trees.length) return absent("flame", "Flame graph", missing || "No Python functions with times were recorded.");
  const laned = new Laned({
    label: "flame graph", names, inputs: [], kinds, selection, axis: false, calls: false, own: "own",
    versions: known.head.versions,
    counts: () => true,
  });
  const about = element("p", { class: "note" });
  const key = element("div"), sandwich = element("div", { "aria-live": "polite" });
  const fill = () => sandwich.replaceChildren(...(laned.rects ? sandwichOf(laned.rects, names, kinds, selection, laned.text) : []));
  const weights = trees.map((tree) => ({ text: tree.what, small: tree.took }));
  const buttons = choices("weight", weights, (at) => {
    const tree = trees[at];
    const rects = new Rects(known, tree.rects, [{ title: "", lanes: tree.lanes }], false);
    laned.text = tree.unit === "bytes" ? size : duration;
    laned.show(rects, tree.length);
    fill();
    const used = new Set(rects.kind);
    key.replaceChildren(legend(kinds.filter((_, kind) => used.has(kind)), FLAME_KINDS));
    const rest = tree.rest ? [`The paths with least, together ${tree.rest}, are left out.`] : [];
    about.textContent = [...tree.notes.map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`), ...rest].join(" ");
  });
  const node = view("flame", "Flame graph", ABOUT,
  element("div", { class: "bar" }, buttons.node, laned.buttons()), key, laned.lanes.node, laned.detail, about, sandwich, laned.table);
  selection.watch(fill);
  buttons.press(0);
  return node;
}
