// One selection for all views: a line, the name of an operator or function, or a text that is looked for.

import { bareName } from "./words.js";

/**
 * @typedef {{kind: "line" | "name" | "text", value: string}} Chosen
 * @typedef {import("./data.js").CodePlace} CodePlace
 */

const KINDS = /** @type {const} */ (["line", "name", "text"]);
const PLACE = /^(?:forward )?(.+):(\d+)(?: in |$)/;

/** What is selected, who wants to know, and which lines there are. */
export class Selection {
  /** @param {CodePlace[]} places */
  constructor(places) {
    this.places = places;
    this.texts = places.map((place) => `${place.name}:${place.line}`);
    /** @type {Map<string, number>} */
    this.known = new Map(this.texts.map((text, at) => [text, at]));
    /** @type {Chosen | null} */
    this.chosen = null;
    /** @type {((chosen: Chosen | null) => void)[]} */
    this.told = [];
  }

  /**
   * A line with its function, as tables have it.
   * @param {number} place
   */
  lineText(place) {
    const inside = this.places[place].function;
    return inside ? `${this.texts[place]} in ${inside}` : this.texts[place];
  }

  /** @param {(chosen: Chosen | null) => void} tell */
  watch(tell) {
    this.told.push(tell);
  }

  /**
   * Selects; what is selected already is no longer.
   * @param {Chosen["kind"]} kind
   * @param {string} value
   */
  toggle(kind, value) {
    const same = this.chosen?.kind === kind && this.chosen.value === value;
    this.choose(same || value === "" ? null : { kind, value });
  }

  /** @param {Chosen | null} chosen */
  choose(chosen) {
    this.chosen = chosen;
    this.keep(chosen);
    for (const tell of this.told) tell(chosen);
  }

  /**
   * Keeps what is selected in the address.
   * @param {Chosen | null} chosen
   */
  keep(chosen) {
    const hash = chosen ? `#${chosen.kind}=${encodeURIComponent(chosen.value)}` : "";
    try {
      history.replaceState(null, "", hash || location.pathname + location.search);
    } catch { /* A page within a notebook has no address. */ }
  }

  /** Selects what the address says. Returns whether it says anything. */
  fromAddress() {
    const [kind, value] = location.hash.slice(1).split("=", 2);
    const known = KINDS.find((each) => each === kind);
    if (!known || !value) return false;
    let text = value;
    try {
      text = decodeURIComponent(value);
    } catch { /* It is shown as it is. */ }
    this.choose({ kind: known, value: text });
    return true;
  }

  /**
   * The line that a cell names, by number; -1 for none.
   * @param {string} cell
   * @param {string} file that the cell's table is about, "" if the cell has it
   */
  placeOf(cell, file = "") {
    const text = file && /^\d+$/.test(cell) ? `${file}:${cell}` : cell.split("\n", 1)[0];
    const found = PLACE.exec(text);
    if (!found) return -1;
    const [, name, line] = found;
    const exact = this.known.get(`${name}:${line}`);
    if (exact !== undefined) return exact;
    return this.places.findIndex((place) => String(place.line) === line
      && (place.name.endsWith(`/${name}`) || name.endsWith(`/${place.name}`)));
  }

  /**
   * Whether something with this name and line is selected.
   * @param {string} name
   * @param {number} place
   * @returns {boolean}
   */
  has(name, place) {
    const chosen = this.chosen;
    if (!chosen) return false;
    if (chosen.kind === "line") return place >= 0 && this.texts[place] === chosen.value;
    if (chosen.kind === "name") return bareName(name) === chosen.value;
    const sought = chosen.value.toLowerCase();
    return name.toLowerCase().includes(sought) || (place >= 0 && this.texts[place].toLowerCase().includes(sought));
  }
}
