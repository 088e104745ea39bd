// A canvas of lanes with what belongs to it: buttons, what was picked, and a table of sums that keys can reach.

import { Lanes, shortName } from "./lanes.js";
import { element, reveal } from "./nodes.js";
import { pick } from "./tables.js";
import { count, duration, signed } from "./words.js";

/**
 * @typedef {import("./rects.js").Rects} Rects
 * @typedef {import("./rects.js").Group} Group
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {{label: string, names: string[], inputs: string[], kinds: string[], selection: Selection,
 *   axis: boolean, counts: (group: Group) => boolean, own: string, calls: boolean, versions: string[]}} Options
 */

const ROWS = 50, LONG = 60;

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
    this.body = element("tbody");
    this.caption = element("caption");
    this.head = element("tr");
    const table = element("table", {}, this.caption, element("thead", {}, this.head), this.body);
    const about = `${options.label}: what is in the span`;
    this.table = element("div", { class: "scroller tall", tabindex: "0", role: "region", "aria-label": about }, table);
    /** @type {[HTMLTableRowElement, string, number][]} */
    this.rows = [];
    options.selection.watch(() => this.mark());
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
    const own = rects.self[at] > 0 && rects.self[at] < rects.length[at] ? `, ${duration(rects.self[at])} itself` : "";
    found.push(`${duration(rects.length[at])}${own} · ${kinds[rects.kind[at]]}`);
    if (rects.line[at] > 0) found.push(lineText(selection, rects.line[at] - 1));
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
    return rects.line[at] > 0 ? [...said, lineText(this.options.selection, rects.line[at] - 1)] : said;
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
      this.detail.append("· ", pick(lineText(selection, place), () => selection.toggle("line", selection.texts[place])), " ");
    }
    this.detail.append("· ", pick("zoom to it", () => this.lanes.zoomTo(at)));
    if (place >= 0) selection.choose({ kind: "line", value: selection.texts[place] });
    else selection.choose({ kind: "name", value: name });
  }

  /**
   * The table of what is in a span.
   * @param {number} from
   * @param {number} to
   */
  sum(from, to) {
    const { rects, options: { counts, own, calls, names, selection } } = this;
    if (!rects) return;
    if (rects.before.length) {
      this.changed(rects);
      return;
    }
    const sums = rects.sums(from, to, counts).filter((sum) => sum.time > 0);
    const several = new Set(sums.map((sum) => sum.group)).size > 1;
    const titles = [own, ...(calls ? ["calls"] : []), "name", "line", ...(several ? ["on"] : [])];
    const right = new Set([own, "calls"]);
    this.head.replaceChildren(...titles.map((title) => (
      element("th", { scope: "col", ...(right.has(title) ? { class: "right" } : {}) }, title))));
    this.rows = sums.slice(0, ROWS).map((sum) => {
      const name = shortName(names[sum.name], "");
      const line = sum.place >= 0 ? lineText(selection, sum.place) : "";
      const cells = [element("td", { class: "right bold" }, duration(sum.time))];
      if (calls) cells.push(element("td", { class: "right" }, count(sum.calls)));
      const full = names[sum.name];
      const button = pick(full, () => selection.toggle("name", name));
      const isLong = full.length > LONG;
      if (isLong) button.title = full;
      cells.push(element("td", { class: isLong ? "long" : "whole" }, isLong ? element("div", { class: "clamp" }, button) : button));
      const text = line ? [pick(line, () => selection.toggle("line", selection.texts[sum.place]))] : [];
      cells.push(element("td", { class: "cyan whole" }, ...text));
      if (several) cells.push(element("td", { class: "dim whole" }, rects.groups[sum.group].title));
      return [element("tr", {}, ...cells), name, sum.place];
    });
    this.body.replaceChildren(...this.rows.map(([row]) => row));
    const whole = from <= 0 && to >= (this.whole ?? 0);
    this.caption.textContent = whole ? "In all of it:" : `In the span of ${duration(to - from)}:`;
    this.mark();
  }

  /**
   * The table of what differs between two versions.
   * @param {Rects} rects
   */
  changed(rects) {
    const { versions, names, selection } = this.options;
    this.head.replaceChildren(...["change", ...versions, "name", "line"].map((title, at) => (
      element("th", { scope: "col", ...(at < 3 ? { class: "right" } : {}) }, title))));
    this.rows = rects.changes().filter((each) => each.after !== each.before).slice(0, ROWS).map((each) => {
      const name = shortName(names[each.name], "");
      const line = each.place >= 0 ? [pick(lineText(selection, each.place), () => selection.toggle("line", selection.texts[each.place]))] : [];
      const own = [each.before, each.after].map((time) => (time > 0 ? duration(time) : ""));
      const times = [signed(each.after - each.before), ...own];
      const cells = times.map((time, at) => element("td", { class: at ? "right" : "right bold" }, time));
      cells.push(element("td", { class: "long" }, pick(names[each.name], () => selection.toggle("name", name))),
        element("td", { class: "cyan whole" }, ...line));
      return [element("tr", {}, ...cells), name, each.place];
    });
    this.body.replaceChildren(...this.rows.map(([row]) => row));
    this.caption.textContent = "Own time of a step, the largest change first:";
    this.mark();
  }

  mark() {
    for (const [row, name, place] of this.rows) {
      row.classList.toggle("marked", this.options.selection.has(name, place));
    }
    reveal(this.rows.map(([row]) => row));
  }
}

/**
 * @param {Selection} selection
 * @param {number} place
 */
export function lineText(selection, place) {
  const { function: inside } = selection.places[place];
  return inside ? `${selection.texts[place]} in ${inside}` : selection.texts[place];
}
