// The flame graph: functions with what they called below them, operators as leaves.

import { Laned } from "./laned.js";
import { choices, element, legend, view } from "./nodes.js";
import { Rects } from "./rects.js";

/**
 * @typedef {import("./data.js").Known} Known
 * @typedef {import("./selection.js").Selection} Selection
 */

const FLAME_KINDS = { own: "the program's functions", library: "of libraries", inside: "outside of Python" };

/**
 * @param {Known} known
 * @param {Selection} selection
 * @returns {HTMLElement}
 */
export function flameOf(known, selection) {
  const { trees, names, kinds, missing } = known.head.flames;
  if (!trees.length) return view("flame", "Flame graph", missing || "No Python functions with times were recorded.");
  const laned = new Laned({
    label: "flame graph", names, inputs: [], kinds, selection, axis: false, calls: false, own: "own",
    counts: () => true,
  });
  const about = element("p", { class: "note" });
  const key = element("div");
  const weights = trees.map((tree) => ({ text: tree.what, small: tree.took }));
  const buttons = choices("weight", weights, (at) => {
    const tree = trees[at];
    const rects = new Rects(known, tree.rects, [{ title: "", lanes: tree.lanes }], false);
    laned.show(rects, tree.length);
    const used = new Set(rects.kind);
    key.replaceChildren(legend(kinds.filter((_, kind) => used.has(kind)), FLAME_KINDS));
    const rest = tree.rest ? [`The paths with least, together ${tree.rest}, are left out.`] : [];
    about.textContent = [...tree.notes.map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`), ...rest].join(" ");
  });
  const node = view("flame", "Flame graph", "The widest is what took most. Functions with what they called below "
    + "them; operators are the leaves, in backward below the Python that called it.",
  element("div", { class: "bar" }, buttons.node, laned.buttons()), key, laned.lanes.node, laned.detail, about, laned.table);
  buttons.press(0);
  return node;
}
