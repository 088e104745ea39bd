// The table below a canvas: what is in a span, or how two versions differ. Keys reach everything in it.

import { shortName } from "./lanes.js";
import { element, reveal } from "./nodes.js";
import { pick } from "./tables.js";
import { count, duration, signed } from "./words.js";

/**
 * @typedef {import("./rects.js").Rects} Rects
 * @typedef {import("./rects.js").Sum} Sum
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {{title: string, times: Map<string, number>}} Base what sums are compared with
 */

const ROWS = 50, LONG = 60;

/** A table of names and lines with their times. */
export class Sums {
  /**
   * @param {string} label
   * @param {string[]} names
   * @param {Selection} selection
   */
  constructor(label, names, selection) {
    this.names = names;
    this.selection = selection;
    this.head = element("tr");
    this.body = element("tbody");
    this.caption = element("caption");
    const table = element("table", {}, this.caption, element("thead", {}, this.head), this.body);
    const about = `${label}: what is in the span`;
    this.node = element("div", { class: "scroller tall", tabindex: "0", role: "region", "aria-label": about }, table);
    /** @type {[HTMLTableRowElement, string, number][]} */
    this.rows = [];
    this.byChange = false;
    selection.watch(() => this.mark());
  }

  /**
   * Sums by name and line, the most first.
   * @param {Sum[]} sums
   * @param {Rects} rects
   * @param {{own: string, calls: boolean, caption: string, base: Base | null, text: (weight: number) => string}} options
   */
  fill(sums, rects, { own, calls, caption, base, text }) {
    const several = new Set(sums.map((sum) => sum.group)).size > 1;
    /** @param {Sum} sum */
    const change = (sum) => sum.time - (base?.times.get(keyOf(sum, rects)) ?? 0);
    const order = base && this.byChange
      ? sums.toSorted((one, two) => Math.abs(change(two)) - Math.abs(change(one))) : sums;
    const again = (/** @type {boolean} */ byChange) => {
      this.byChange = byChange;
      this.fill(sums, rects, { own, calls, caption, base, text });
    };
    this.head.replaceChildren(titleOf(own, true, base ? () => again(false) : null, !this.byChange),
      ...(base ? [titleOf(`vs ${base.title}`, true, () => again(true), this.byChange)] : []),
      ...(calls ? [titleOf("calls", true)] : []), titleOf("name"), titleOf("line"), ...(several ? [titleOf("on")] : []));
    this.show(order.slice(0, ROWS).map((sum) => [sum.name, sum.place, [
      element("td", { class: "right bold" }, text(sum.time)),
      ...(base ? [element("td", { class: "right" }, signed(change(sum)))] : []),
      ...(calls ? [element("td", { class: "right" }, count(sum.calls))] : []),
    ], several ? rects.groups[sum.group].title : ""]), caption);
  }

  /**
   * What differs between two versions, the largest change first.
   * @param {Rects} rects
   * @param {string[]} versions
   */
  fillChanges(rects, versions) {
    this.head.replaceChildren(titleOf("change", true), ...versions.map((name) => titleOf(name, true)), titleOf("name"), titleOf("line"));
    const changed = rects.changes().filter((each) => each.after !== each.before).slice(0, ROWS);
    this.show(changed.map(({ name, place, before, after }) => [name, place, [
      element("td", { class: "right bold" }, signed(after - before)),
      ...[before, after].map((time) => element("td", { class: "right" }, time > 0 ? duration(time) : "")),
    ], ""]), "Own time of a step, the largest change first:");
  }

  /**
   * @param {[number, number, HTMLElement[], string][]} rows name, place, figures, and where
   * @param {string} caption
   */
  show(rows, caption) {
    const { names, selection } = this;
    this.rows = rows.map(([number, place, figures, where]) => {
      const full = names[number], name = shortName(full, "");
      const button = pick(full, () => selection.toggle("name", name));
      const isLong = full.length > LONG;
      if (isLong) button.title = full;
      const named = element("td", { class: isLong ? "long" : "whole" }, isLong ? element("div", { class: "clamp" }, button) : button);
      const line = place >= 0 ? [pick(selection.lineText(place), () => selection.toggle("line", selection.texts[place]))] : [];
      const cells = [...figures, named, element("td", { class: "cyan whole" }, ...line)];
      if (where) cells.push(element("td", { class: "dim whole" }, where));
      return [element("tr", {}, ...cells), name, place];
    });
    this.body.replaceChildren(...this.rows.map(([row]) => row));
    this.caption.textContent = caption;
    this.mark();
  }

  mark() {
    for (const [row, name, place] of this.rows) row.classList.toggle("marked", this.selection.has(name, place));
    reveal(this.rows.map(([row]) => row));
  }
}

/**
 * What a sum is compared by: where it ran, its name and its line.
 * @param {Sum} sum
 * @param {Rects} rects
 */
export function keyOf(sum, rects) {
  return `${rects.groups[sum.group].title} ${sum.name} ${sum.place}`;
}

/**
 * @param {string} title
 * @param {boolean} right
 * @param {(() => void) | null} sort
 * @param {boolean} sorted
 */
function titleOf(title, right = false, sort = null, sorted = false) {
  const inside = sort ? element("button", { type: "button", click: sort }, title) : title;
  return element("th", { scope: "col", ...(right ? { class: "right" } : {}),
    ...(sort && sorted ? { "aria-sort": "descending" } : {}) }, inside);
}
