// The timeline of some steps: threads and streams of GPUs as lanes.

import { Laned } from "./laned.js";
import { absent, choices, element, legend, view } from "./nodes.js";
import { Rects } from "./rects.js";
import { keyOf } from "./sums.js";
import { count } from "./words.js";

/**
 * @typedef {import("./data.js").Known} Known
 * @typedef {import("./data.js").Stretch} Stretch
 * @typedef {import("./selection.js").Selection} Selection
 */

const TIMELINE_KINDS = { call: "call of CUDA", range: "range", python: "Python, by samples" };

/**
 * @param {Known} known
 * @param {Selection} selection
 * @returns {{node: HTMLElement, showStep: (step: number) => void}}
 */
export function timelineOf(known, selection) {
  const { stretches, kinds, names, inputs } = known.head.timeline;
  const shown = stretches.filter((stretch) => stretch.lanes.length);
  if (!shown.length) {
    return { node: absent("timeline", "Timeline", "No operators with times were recorded."), showStep: () => {} };
  }
  const laned = new Laned({
    label: "timeline", names, inputs, kinds, selection, axis: true, calls: true, own: "self", versions: [],
    counts: (group) => group.title !== "parts of the step" && !group.title.startsWith("Python lines"),
  });
  const about = element("p", { class: "note" });
  const key = element("div");
  const titles = shown.map(titleOf);
  const base = shown.length > 1 && shown[0].what === "median" ? baseOf(known, shown[0], laned.options.counts) : null;
  const steps = choices("step", titles, (at) => {
    const stretch = shown[at];
    const rects = rectsOf(known, stretch);
    laned.base = at ? base : null;
    laned.show(rects, stretch.length);
    const used = new Set(rects.kind);
    key.replaceChildren(legend(kinds.filter((_, kind) => used.has(kind)), TIMELINE_KINDS));
    about.textContent = stretch.left_out
      ? `${count(stretch.left_out)} short operators are left out, so that the page stays small.` : "";
  });
  const keys = element("p", { class: "keys" }, element("kbd", {}, "W"), " ", element("kbd", {}, "S"), " zoom ",
    element("kbd", {}, "A"), " ", element("kbd", {}, "D"), " move ", element("kbd", {}, "0"), " all");
  const node = view("timeline", "Timeline", "What ran when, on the threads of the program and on GPUs. Below: the "
    + "sums of what is shown, or of the span that you drag over.",
  element("div", { class: "bar" }, steps.node, laned.buttons(), keys), key, laned.lanes.node, laned.detail, about, laned.table);
  steps.press(0);
  const showStep = (/** @type {number} */ step) => {
    const at = shown.findIndex((stretch) => stretch.step === step);
    if (at >= 0) steps.press(at);
  };
  return { node, showStep };
}

/**
 * @param {Known} known
 * @param {Stretch} stretch
 */
function rectsOf(known, stretch) {
  return new Rects(known, stretch.rects, stretch.lanes.map(([title, lanes]) => ({ title, lanes })), true);
}

/**
 * What other steps are compared with.
 * @param {Known} known
 * @param {Stretch} stretch
 * @param {(group: import("./rects.js").Group) => boolean} counts
 */
function baseOf(known, stretch, counts) {
  const rects = rectsOf(known, stretch);
  const sums = rects.sums(0, stretch.length, counts);
  return { title: stretch.what, times: new Map(sums.map((sum) => [keyOf(sum, rects), sum.time])) };
}

/** @param {Stretch} stretch */
function titleOf(stretch) {
  const number = stretch.number >= 0 && !stretch.what.endsWith("step") ? `step ${stretch.number}, ` : "";
  return { text: stretch.what === "step" ? "the step" : stretch.what, small: `${number}${stretch.took}` };
}
