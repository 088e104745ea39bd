// A canvas of lanes with what belongs to it: buttons, what was picked, and a table of sums that keys can reach.

import { Lanes, shortName } from "./lanes.js";
import { element } from "./nodes.js";
import { Sums } from "./sums.js";
import { pick } from "./tables.js";
import { duration, signed } from "./words.js";

/**
 * @typedef {import("./rects.js").Rects} Rects
 * @typedef {import("./rects.js").Group} Group
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {{label: string, names: string[], inputs: string[], kinds: string[], selection: Selection,
 *   axis: boolean, counts: (group: Group) => boolean, own: string, calls: boolean, versions: string[]}} Options
 */

/** The canvas, and what is beside it. */
export class Laned {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.lanes = new Lanes({
      ...options,
      said: (rects, at) => this.said(rects, at).join("\n"),
      pick: (at) => this.pick(at),
      span: (from, to) => this.sum(from, to),
    });
    this.detail = element("p", { class: "detail", "aria-live": "polite" });
    this.sums = new Sums(options.label, options.names, options.selection);
    this.table = this.sums.node;
    /** @type {Rects | null} */
    this.rects = null;
    this.whole = 0;
    /** @type {import("./sums.js").Base | null} */
    this.base = null; // what sums of all of it are compared with
    /** @type {(weight: number) => string} */
    this.text = duration;
  }

  /** Buttons for what keys do too. */
  buttons() {
    const { lanes } = this;
    /** @type {[string, string, () => void][]} */
    const all = [["+", "zoom in (w)", () => lanes.zoom(1.5)], ["−", "zoom out (s)", () => lanes.zoom(1 / 1.5)],
      ["←", "earlier (a)", () => lanes.move(-0.2)], ["→", "later (d)", () => lanes.move(0.2)],
      ["all", "show all (0)", () => lanes.reset()]];
    const made = all.map(([text, title, click]) => (
      element("button", { type: "button", title, "aria-label": title, click }, text)));
    return element("div", { class: "choices", role: "group", "aria-label": "zoom" }, ...made);
  }

  /**
   * @param {Rects} rects
   * @param {number} whole
   */
  show(rects, whole) {
    this.rects = rects;
    this.whole = whole;
    this.lanes.show(rects, whole);
    this.pick(-1);
    this.sum(0, whole);
  }

  /**
   * What a rectangle is, line by line.
   * @param {Rects} rects
   * @param {number} at
   */
  said(rects, at) {
    const { names, inputs, kinds, selection } = this.options;
    const found = [names[rects.name[at]]];
    if (rects.inputs[at] > 0) found.push(inputs[rects.inputs[at] - 1]);
    if (rects.before.length) return [...found, ...this.saidOfBoth(rects, at)];
    const own = rects.self[at] > 0 && rects.self[at] < rects.length[at] ? `, ${this.text(rects.self[at])} itself` : "";
    found.push(`${this.text(rects.length[at])}${own} · ${kinds[rects.kind[at]]}`);
    if (rects.line[at] > 0) found.push(selection.lineText(rects.line[at] - 1));
    return found;
  }

  /**
   * How a rectangle of two versions differs.
   * @param {Rects} rects
   * @param {number} at
   */
  saidOfBoth(rects, at) {
    const [before, after] = [rects.before[at], rects.after[at]];
    const [one, two] = this.options.versions;
    const said = [`${one} ${duration(before)}, ${two} ${duration(after)} a step: ${signed(after - before)}`];
    return rects.line[at] > 0 ? [...said, this.options.selection.lineText(rects.line[at] - 1)] : said;
  }

  /** @param {number} at */
  pick(at) {
    const { rects, options: { selection, names, kinds } } = this;
    this.detail.replaceChildren();
    if (!rects || at < 0) {
      this.detail.append("Point at a rectangle to read it, choose it to mark it everywhere, drag over a span to sum it.");
      return;
    }
    const place = rects.line[at] - 1;
    const name = shortName(names[rects.name[at]], kinds[rects.kind[at]]);
    const [, ...more] = this.said(rects, at).filter((_, line, all) => place < 0 || line < all.length - 1);
    this.detail.append(element("b", {}, pick(name, () => selection.toggle("name", name))), ` ${more.join(" · ")} `);
    if (place >= 0) {
      this.detail.append("· ", pick(selection.lineText(place), () => selection.toggle("line", selection.texts[place])), " ");
    }
    this.detail.append("· ", pick("zoom to it", () => this.lanes.zoomTo(at)));
    if (place >= 0) selection.choose({ kind: "line", value: selection.texts[place] });
    else selection.choose({ kind: "name", value: name });
  }

  /**
   * Fills the table with what is in a span.
   * @param {number} from
   * @param {number} to
   */
  sum(from, to) {
    const { rects, options: { counts, own, calls, versions } } = this;
    if (!rects) return;
    if (rects.before.length) {
      this.sums.fillChanges(rects, versions);
      return;
    }
    const isWhole = from <= 0 && to >= this.whole;
    const caption = isWhole ? "In all of it:" : `In the span of ${this.text(to - from)}:`;
    const sums = rects.sums(from, to, counts).filter((sum) => sum.time > 0);
    this.sums.fill(sums, rects, { own, calls, caption, base: isWhole ? this.base : null, text: this.text });
  }
}
