// Numbers and places as text, like perfprobe writes them (support/units.py).

const DURATIONS = /** @type {[number, string][]} */ ([[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"]]);
const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];
const UNITS = new Map([
  ...DURATIONS.map(([scale, unit]) => /** @type {[string, number]} */ ([unit, scale])),
  ...SIZES.map((unit, at) => /** @type {[string, number]} */ ([unit, 1024 ** at])),
  ...["k", "M", "G", "T", "P"].map((unit, at) => /** @type {[string, number]} */ ([unit, 1000 ** (at + 1)])),
  ["min", 60e9], ["h", 3600e9],
]);
const NUMBER = /^[<~≥]?\s*([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*([a-zA-Z]*)/;

/** @param {number} value */
function threeDigits(value) {
  return Math.abs(value) < 9.995 ? value.toFixed(2) : Math.abs(value) < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

/**
 * Nanoseconds with three digits: "1.24 ms", "12 min 03 s".
 * @param {number} time
 * @returns {string}
 */
export function duration(time) {
  if (time >= 600e9) {
    const seconds = Math.round(time / 1e9);
    const [whole, rest, units] = seconds < 3600
      ? [Math.floor(seconds / 60), seconds % 60, ["min", "s"]]
      : [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), ["h", "min"]];
    return `${whole} ${units[0]} ${String(rest).padStart(2, "0")} ${units[1]}`;
  }
  for (const [scale, unit] of DURATIONS.slice(0, -1)) {
    if (Number(threeDigits(time / scale)) < 1000) {
      return `${scale > 1 ? threeDigits(time / scale) : Math.round(time)} ${unit}`;
    }
  }
  return `${threeDigits(time / 1e9)} s`;
}

/**
 * A difference of times, with its sign: "+1.24 ms".
 * @param {number} time
 * @returns {string}
 */
export function signed(time) {
  return `${time < 0 ? "-" : "+"}${duration(Math.abs(time))}`;
}

/**
 * Bytes with three digits: "1.50 MiB".
 * @param {number} bytes
 * @returns {string}
 */
export function size(bytes) {
  let value = bytes;
  for (const unit of SIZES.slice(0, -1)) {
    if (Math.abs(value) < 1000) return unit === "B" ? `${value.toFixed(0)} B` : `${threeDigits(value)} ${unit}`;
    value /= 1024;
  }
  return `${threeDigits(value)} TiB`;
}

/**
 * @param {number} number
 * @returns {string}
 */
export function count(number) {
  return number.toLocaleString("en-US");
}

/**
 * What a cell is sorted by: its number in one unit, else its text. null: a cell without a figure.
 * @param {string} text
 * @returns {number | string | null}
 */
export function sortKey(text) {
  const found = NUMBER.exec(text);
  if (!found) return text === "" || text === "-" ? null : text.toLowerCase();
  const number = Number(found[1].replaceAll(",", ""));
  return number * (UNITS.get(found[2]) ?? 1);
}

/**
 * The name by which all views know an operator: without the prefixes that narrow tables leave out.
 * @param {string} text
 * @returns {string}
 */
export function bareName(text) {
  return text.split("\n", 1)[0].replace(/^(aten::|autograd::engine::)/, "");
}
