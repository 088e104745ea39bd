// The one renderer of rectangles on lanes: zoomed and moved by keys and pointer, a span of it can be chosen.

import { color, element, tip } from "./nodes.js";
import { duration } from "./words.js";

/**
 * @typedef {import("./rects.js").Rects} Rects
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {{label: string, names: string[], kinds: string[], selection: Selection,
 *   said: (rects: Rects, at: number) => string, pick: (at: number) => void,
 *   span: (from: number, to: number) => void, axis: boolean}} Options
 */

const ROW = 17, TITLE = 19, AXIS = 20, BELOW = 6;
const LEAST_TEXT = 26; // pixels of a rectangle that has a text
const ARROWS = 200; // from one rectangle
const CLICK = 4; // pixels that a click may move
const FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** A canvas with rectangles. */
export class Lanes {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-label": options.label });
    this.node = element("div", { class: "canvas" }, this.canvas);
    /** @type {Rects | null} */
    this.rects = null;
    this.whole = 1;
    this.from = 0;
    this.to = 1;
    /** @type {[number, number] | null} */
    this.marked = null;
    this.picked = -1;
    /** @type {number[]} */
    this.tops = [];
    this.height = AXIS;
    this.width = 0;
    this.isMarked = new Uint8Array(0);
    this.anyMarked = false;
    this.pending = 0;
    this.listen();
    options.selection.watch(() => { this.mark(); this.redraw(); });
    document.addEventListener("theme", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.node);
  }

  /**
   * @param {Rects} rects
   * @param {number} whole
   */
  show(rects, whole) {
    this.rects = rects;
    [this.whole, this.from, this.to] = [Math.max(whole, 1), 0, Math.max(whole, 1)];
    [this.marked, this.picked, this.tops] = [null, -1, []];
    let top = this.options.axis ? AXIS : 2;
    for (const { title, lanes } of rects.groups) {
      if (title) top += TITLE;
      for (let lane = 0; lane < lanes; lane++, top += ROW) this.tops.push(top);
      top += title ? BELOW : 0;
    }
    this.height = top + 2;
    this.mark();
    this.redraw();
  }

  mark() {
    const { rects, options: { names, selection } } = this;
    if (!rects) return;
    this.isMarked = new Uint8Array(rects.size);
    this.anyMarked = false;
    if (!selection.chosen) return;
    for (let at = 0; at < rects.size; at++) {
      const name = shortName(names[rects.name[at]], this.options.kinds[rects.kind[at]]);
      if (selection.has(name, rects.line[at] - 1)) this.isMarked[at] = 1;
      this.anyMarked ||= this.isMarked[at] === 1;
    }
  }

  redraw() {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.draw());
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.node.clientWidth;
    const pen = this.canvas.getContext("2d");
    if (!this.rects || !pen || !this.width) return;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    pen.scale(ratio, ratio);
    pen.font = FONT;
    pen.textBaseline = "middle";
    if (this.options.axis) this.drawAxis(pen);
    this.drawTitles(pen);
    this.drawRects(pen, this.rects);
    if (this.picked >= 0) this.drawArrows(pen, this.rects);
    if (this.marked) this.drawSpan(pen, this.marked);
  }

  /** @param {number} time */
  x(time) {
    return ((time - this.from) / (this.to - this.from)) * this.width;
  }

  /** @param {CanvasRenderingContext2D} pen */
  drawAxis(pen) {
    const about = (this.to - this.from) / Math.max(this.width / 110, 2);
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= about) ?? about;
    pen.fillStyle = color("soft");
    pen.strokeStyle = color("faint");
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = Math.round(this.x(time)) + 0.5;
      pen.beginPath();
      pen.moveTo(x, AXIS - 3);
      pen.lineTo(x, this.height);
      pen.stroke();
      const text = time === 0 ? "0" : duration(time);
      if (x + 4 + pen.measureText(text).width < this.width) pen.fillText(text, x + 4, AXIS / 2);
    }
  }

  /** @param {CanvasRenderingContext2D} pen */
  drawTitles(pen) {
    let lane = 0;
    pen.fillStyle = color("soft");
    for (const { title, lanes } of this.rects?.groups ?? []) {
      if (title) pen.fillText(title, 6, this.tops[lane] - TITLE / 2 + 1);
      lane += lanes;
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Rects} rects
   */
  drawRects(pen, rects) {
    const colors = this.options.kinds.map(color);
    const letter = pen.measureText("m").width;
    const [ink, edge] = [color("on"), color("mark-edge")];
    for (let lane = 0; lane < this.tops.length; lane++) {
      let last = -1;
      for (let at = rects.from(lane, this.from); at < rects.first[lane + 1] && rects.start[at] < this.to; at++) {
        const left = Math.max(this.x(rects.start[at]), -2);
        const right = Math.min(this.x(rects.start[at] + rects.length[at]), this.width + 2);
        const isMarked = this.isMarked[at] === 1;
        if (right < 0 || (right <= last + 0.3 && !isMarked)) continue;
        last = right;
        const width = Math.max(right - left - (right - left > 3 ? 0.7 : 0), 0.6);
        pen.globalAlpha = this.anyMarked && !isMarked ? 0.3 : 1;
        pen.fillStyle = colors[rects.kind[at]];
        pen.fillRect(left, this.tops[lane], width, ROW - 1);
        if (isMarked || at === this.picked) {
          pen.strokeStyle = edge;
          pen.lineWidth = at === this.picked ? 2 : 1;
          pen.strokeRect(left + 0.5, this.tops[lane] + 0.5, Math.max(width - 1, 0.5), ROW - 2);
        }
        if (width > LEAST_TEXT) this.drawText(pen, rects, at, left, width, letter, ink);
      }
    }
    pen.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Rects} rects
   * @param {number} at
   * @param {number} left
   * @param {number} width
   * @param {number} letter
   * @param {string} ink
   */
  drawText(pen, rects, at, left, width, letter, ink) {
    const begin = Math.max(left, 0);
    const letters = Math.floor((Math.min(left + width, this.width) - begin - 6) / letter);
    if (letters < 3) return;
    const name = this.options.names[rects.name[at]] ?? "";
    pen.fillStyle = ink;
    pen.fillText(name.length > letters ? `${name.slice(0, letters - 1)}…` : name, begin + 3, this.tops[rects.lane[at]] + ROW / 2);
  }

  /**
   * Arrows from what caused the picked rectangle, and to what it caused: launches, and backward of forward.
   * @param {CanvasRenderingContext2D} pen
   * @param {Rects} rects
   */
  drawArrows(pen, rects) {
    const { picked } = this;
    if (!rects.source.length) return;
    if (rects.source[picked]) this.drawArrow(pen, rects, rects.source[picked] - 1, picked);
    let drawn = 0;
    for (let at = 0; at < rects.size && drawn < ARROWS; at++) {
      if (rects.source[at] === picked + 1) {
        this.drawArrow(pen, rects, picked, at);
        drawn++;
      }
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Rects} rects
   * @param {number} from
   * @param {number} to
   */
  drawArrow(pen, rects, from, to) {
    const [left, top] = [this.x(rects.start[from] + rects.length[from]), this.tops[rects.lane[from]] + ROW / 2];
    const [right, below] = [this.x(rects.start[to]), this.tops[rects.lane[to]] + ROW / 2];
    pen.strokeStyle = pen.fillStyle = color("accent");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(left, top);
    const bend = Math.max(Math.abs(right - left) / 3, 24);
    pen.bezierCurveTo(left + bend, top, right - bend, below, right - 5, below);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(right, below);
    pen.lineTo(right - 7, below - 4);
    pen.lineTo(right - 7, below + 4);
    pen.fill();
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {[number, number]} span
   */
  drawSpan(pen, [from, to]) {
    pen.fillStyle = color("accent");
    pen.globalAlpha = 0.13;
    pen.fillRect(this.x(from), 0, this.x(to) - this.x(from), this.height);
    pen.globalAlpha = 1;
    for (const time of [from, to]) pen.fillRect(this.x(time) - 0.5, 0, 1, this.height);
    if (!this.options.axis) return;
    const text = duration(to - from);
    const x = Math.min(Math.max(this.x(from) + 4, 2), this.width - pen.measureText(text).width - 8);
    pen.fillRect(x - 3, 2, pen.measureText(text).width + 6, AXIS - 5);
    pen.fillStyle = color("card");
    pen.fillText(text, x, AXIS / 2);
  }

  /**
   * The rectangle at a place of the canvas, -1 for none.
   * @param {MouseEvent} event
   */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const lane = this.tops.findIndex((top) => y >= top && y < top + ROW);
    if (!this.rects || lane < 0) return -1;
    const { rects } = this;
    const near = (this.to - this.from) / this.width;
    const time = this.from + x * near;
    for (let at = rects.from(lane, time - near); at < rects.first[lane + 1] && rects.start[at] <= time + near; at++) {
      if (rects.start[at] + Math.max(rects.length[at], near) >= time) return at;
    }
    return -1;
  }

  /** @param {MouseEvent} event */
  timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = Math.min(Math.max((event.clientX - box.left) / this.width, 0), 1);
    return this.from + part * (this.to - this.from);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  look(from, to) {
    const length = Math.min(Math.max(to - from, this.whole / 1e6, 1), this.whole);
    this.from = Math.min(Math.max(from, 0), this.whole - length);
    this.to = this.from + length;
    this.redraw();
  }

  /**
   * @param {number} times
   * @param {number} [around]
   */
  zoom(times, around = (this.from + this.to) / 2) {
    this.look(around - (around - this.from) / times, around + (this.to - around) / times);
  }

  /** @param {number} part of what is shown */
  move(part) {
    const by = part * (this.to - this.from);
    this.look(this.from + by, this.to + by);
  }

  reset() {
    this.marked = null;
    this.look(0, this.whole);
    this.options.span(0, this.whole);
  }

  /** @param {number} at */
  zoomTo(at) {
    if (!this.rects || at < 0) return;
    this.look(this.rects.start[at], this.rects.start[at] + this.rects.length[at]);
  }

  listen() {
    const { canvas } = this;
    let begin = -1, beginX = 0;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      [begin, beginX] = [this.timeAt(event), event.clientX];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (begin >= 0 && Math.abs(event.clientX - beginX) > CLICK) {
        const now = this.timeAt(event);
        this.marked = [Math.min(begin, now), Math.max(begin, now)];
        tip("");
        this.redraw();
        return;
      }
      const at = this.at(event);
      tip(at >= 0 && this.rects ? this.options.said(this.rects, at) : "", event);
    });
    canvas.addEventListener("pointerup", (event) => {
      const moved = Math.abs(event.clientX - beginX) > CLICK;
      if (begin >= 0 && moved && this.marked) this.options.span(...this.marked);
      if (begin >= 0 && !moved) this.click(event);
      begin = -1;
    });
    canvas.addEventListener("pointercancel", () => { begin = -1; });
    canvas.addEventListener("pointerleave", () => tip(""));
    canvas.addEventListener("dblclick", (event) => this.zoomTo(this.at(event)));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, this.timeAt(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (this.marked) {
      this.marked = null;
      this.options.span(0, this.whole);
    }
    this.picked = this.at(event);
    this.options.pick(this.picked);
    this.redraw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      w: () => this.zoom(1.5), "+": () => this.zoom(1.5), s: () => this.zoom(1 / 1.5), "-": () => this.zoom(1 / 1.5),
      a: () => this.move(-0.2), ArrowLeft: () => this.move(-0.2), d: () => this.move(0.2),
      ArrowRight: () => this.move(0.2), 0: () => this.reset(), Home: () => this.reset(), Escape: () => this.reset(),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    tip("");
    act();
  }
}

/**
 * The name that a rectangle is selected by: of a path's operator without its inputs.
 * @param {string} name
 * @param {string} kind
 */
export function shortName(name, kind) {
  const isFunction = kind === "own" || kind === "library" || kind === "inside" || kind === "call" || kind === "copy";
  return isFunction || name.includes("::") ? name : name.split(/ (?=[a-z]+\d*\[|\w+=|\()/, 1)[0];
}
