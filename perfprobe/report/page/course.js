// Steps and memory over time: stacked columns on a canvas. (A plot of this size needs no library.)

import { absent, color, element, legend, tip, view } from "./nodes.js";
import { count, duration, size } from "./words.js";

/**
 * @typedef {import("./data.js").Known} Known
 * @typedef {import("./data.js").Numbers} Numbers
 * @typedef {{name: string, color: string, values: Numbers}} Series
 * @typedef {{label: string, series: Series[], length: number, most: number, line: number, lineText: string,
 *   text: (value: number) => string, said: (at: number) => string, pick: (at: number) => void}} Plot
 */

const HEIGHT = 190, ABOVE = 10, BELOW = 6, LEFT = 62;
const COLORS = ["forward", "backward", "optimizer", "data", "call", "recompute", "copy", "compile", "own", "other"];
/** @type {Record<string, string>} */
const KNOWN = { forward: "forward", model: "forward", backward: "backward", optimizer: "optimizer", data: "data",
  input: "data", recompute: "recompute", compile: "compile", other: "other", copy: "copy", parameters: "forward",
  gradients: "backward", "optimizer state": "optimizer", activations: "recompute", inputs: "data", temporaries: "other" };
const LISTED = 50;

/**
 * @param {Known} known
 * @param {(step: number) => void} showStep
 * @returns {HTMLElement}
 */
export function courseOf(known, showStep) {
  const { steps, memory } = known.head;
  const parts = [];
  if (steps) parts.push(...stepsOf(known, steps, showStep));
  if (memory) parts.push(...memoryOf(known, memory));
  if (!parts.length) return absent("course", "Over time", "No steps were found, and no memory was recorded.");
  const about = "Each column is a step, in the order of time; choose one to see it in the timeline, if it is there.";
  return view("course", "Over time", steps ? about : "", ...parts);
}

/**
 * @param {Known} known
 * @param {import("./data.js").Steps} steps
 * @param {(step: number) => void} showStep
 */
function stepsOf(known, steps, showStep) {
  const [rows, length, mark] = [steps.row, steps.length, steps.mark].map((place) => known.column(place));
  const series = steps.phases.map(({ name, time }) => ({ name, color: "", values: known.column(time) }));
  paint(series);
  /** @param {number} at */
  const said = (at) => {
    const marked = steps.marks[mark[at]] ? `, ${steps.marks[mark[at]]}` : "";
    const parts = series.filter(({ values }) => values[at] > 0).map(({ name, values }) => `${name} ${duration(values[at])}`);
    return [`step ${at}: ${duration(length[at])}${marked}`, ...parts].join("\n");
  };
  const plot = {
    label: "steps over time", series, length: length.length, most: Math.max(...length), line: steps.median,
    lineText: `median ${steps.took}`, text: duration, said, pick: (/** @type {number} */ at) => showStep(rows[at]),
  };
  const slowest = Array.from(length.keys()).sort((one, two) => length[two] - length[one]).slice(0, LISTED);
  const body = slowest.map((at) => element("tr", {}, element("td", { class: "right" }, element("button", {
    type: "button", class: "pick", click: () => showStep(rows[at]) }, String(at))),
  element("td", { class: "right bold" }, duration(length[at])), element("td", {}, steps.marks[mark[at]]),
  ...series.map(({ values }) => element("td", { class: "right" }, values[at] ? duration(values[at]) : ""))));
  const titles = ["step", "took", "left out", ...series.map(({ name }) => name)];
  const rest = steps.left_out ? [element("p", { class: "note" }, `${count(steps.left_out)} later steps are left out.`)] : [];
  return [element("h3", {}, "Steps"), ...rest, keyOf(series), canvasOf(plot), listOf("The slowest steps", titles, body)];
}

/**
 * @param {Known} known
 * @param {import("./data.js").Memory} memory
 */
function memoryOf(known, memory) {
  const time = known.column(memory.time);
  const series = memory.held.map(({ name, bytes }) => ({ name, color: "", values: known.column(bytes) }));
  paint(series);
  /** @param {number} at */
  const said = (at) => [`after ${duration(time[at])}`, ...series.filter(({ values }) => values[at] > 0)
    .map(({ name, values }) => `${name} ${size(values[at])}`)].join("\n");
  const plot = {
    label: "memory over time", series, length: time.length, most: memory.peak, line: memory.peak,
    lineText: `peak ${memory.took}`, text: size, said, pick: () => {},
  };
  return [element("h3", {}, "Memory of tensors on the CPU"), keyOf(series), canvasOf(plot)];
}

/** @param {Series[]} series */
function paint(series) {
  const used = new Set();
  for (const each of series) {
    const wanted = KNOWN[each.name] ?? COLORS.find((name) => !used.has(name)) ?? "other";
    each.color = used.has(wanted) ? COLORS.find((name) => !used.has(name)) ?? "other" : wanted;
    used.add(each.color);
  }
}

/** @param {Series[]} series */
function keyOf(series) {
  return legend(series.map((each) => each.color), Object.fromEntries(series.map((each) => [each.color, each.name])));
}

/**
 * @param {string} title
 * @param {string[]} titles
 * @param {HTMLElement[]} body
 */
function listOf(title, titles, body) {
  const head = element("tr", {}, ...titles.map((text) => (
    element("th", { scope: "col", ...(text === "left out" ? {} : { class: "right" }) }, text))));
  const table = element("table", { "aria-label": title }, element("thead", {}, head), element("tbody", {}, ...body));
  const scroller = element("div", { class: "scroller tall", tabindex: "0", role: "region", "aria-label": title }, table);
  return element("details", { class: "tables" }, element("summary", {}, element("span", { class: "name" }, title)), scroller);
}

/** @param {Plot} plot */
function canvasOf(plot) {
  const canvas = element("canvas", { role: "img", "aria-label": `${plot.label}: ${plot.lineText}` });
  const box = element("div", { class: "canvas" }, canvas);
  const draw = () => requestAnimationFrame(() => drawPlot(canvas, box.clientWidth, plot));
  /** @param {MouseEvent} event */
  const at = (event) => {
    const bounds = canvas.getBoundingClientRect();
    const part = (event.clientX - bounds.left - LEFT) / (bounds.width - LEFT);
    return Math.min(Math.max(Math.floor(part * plot.length), 0), plot.length - 1);
  };
  canvas.addEventListener("pointermove", (event) => tip(plot.said(at(event)), event));
  canvas.addEventListener("pointerleave", () => tip(""));
  canvas.addEventListener("click", (event) => plot.pick(at(event)));
  document.addEventListener("theme", draw);
  new ResizeObserver(draw).observe(box);
  return box;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {Plot} plot
 */
function drawPlot(canvas, width, plot) {
  const ratio = window.devicePixelRatio || 1;
  const pen = canvas.getContext("2d");
  if (!pen || !width) return;
  [canvas.width, canvas.height] = [Math.round(width * ratio), HEIGHT * ratio];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${HEIGHT}px`];
  pen.scale(ratio, ratio);
  const high = HEIGHT - ABOVE - BELOW;
  /** @param {number} value */
  const y = (value) => HEIGHT - BELOW - (value / Math.max(plot.most, 1)) * high;
  drawScale(pen, width, plot, y);
  const step = (width - LEFT) / plot.length;
  const colors = plot.series.map((each) => color(each.color));
  for (const [first, last] of columns(plot.length, width - LEFT)) {
    const at = highest(plot, first, last);
    const left = Math.round(LEFT + first * step); // whole pixels, so that no seams are seen
    const wide = Math.max(Math.round(LEFT + last * step) - left - (step > 4 ? 1 : 0), 1);
    let sum = 0;
    plot.series.forEach(({ values }, number) => {
      pen.fillStyle = colors[number];
      pen.fillRect(left, y(sum + values[at]), wide, y(sum) - y(sum + values[at]));
      sum += values[at];
    });
  }
  pen.strokeStyle = color("ink");
  pen.setLineDash([4, 3]);
  pen.beginPath();
  pen.moveTo(LEFT, Math.round(y(plot.line)) + 0.5);
  pen.lineTo(width, Math.round(y(plot.line)) + 0.5);
  pen.stroke();
}

/**
 * First and last of what each column of pixels shows.
 * @param {number} length
 * @param {number} width
 * @returns {Generator<[number, number]>}
 */
function* columns(length, width) {
  const each = Math.max(1, length / Math.max(width, 1));
  for (let first = 0; first < length; first += each) yield [Math.floor(first), Math.min(Math.ceil(first + each), length)];
}

/**
 * Of several in one column of pixels the one with most.
 * @param {Plot} plot
 * @param {number} first
 * @param {number} last
 */
function highest(plot, first, last) {
  let found = first, most = -1;
  for (let at = first; at < last; at++) {
    const sum = plot.series.reduce((before, { values }) => before + values[at], 0);
    if (sum > most) [found, most] = [at, sum];
  }
  return found;
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} width
 * @param {Plot} plot
 * @param {(value: number) => number} y
 */
function drawScale(pen, width, plot, y) {
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.setLineDash([]);
  for (const part of [0, 0.5, 1]) {
    const at = Math.round(y(plot.most * part)) + 0.5;
    pen.strokeStyle = color("faint");
    pen.beginPath();
    pen.moveTo(LEFT, at);
    pen.lineTo(width, at);
    pen.stroke();
    pen.fillStyle = color("soft");
    pen.fillText(part ? plot.text(plot.most * part) : "0", LEFT - 7, Math.min(Math.max(at, 7), HEIGHT - 7));
  }
}
