// The first screen, and the tables of all sections.

import { classes, element, view } from "./nodes.js";
import { blocksOf, tableOf } from "./tables.js";

/**
 * @typedef {import("./data.js").Block} Block
 * @typedef {import("./data.js").Section} Section
 * @typedef {import("./selection.js").Selection} Selection
 */

const OPEN_SECTIONS = new Set(["operators", "summary", "slow-steps", "benchmark"]);

/**
 * The first screen, line by line.
 * @param {Block[]} blocks
 * @param {string} title
 * @param {Selection} selection
 * @returns {HTMLElement}
 */
export function screenOf(blocks, title, selection) {
  const lines = element("dl", { class: "said" });
  const card = element("div", { class: "card" }, lines);
  let last = "";
  /** @type {HTMLElement | null} */
  let said = null;
  for (const block of blocks) {
    if (block.kind === "said") {
      const look = `${classes(block.style)}${block.command ? " command" : ""}`.trim();
      if (!block.label && said) {
        said.append("\n", element("span", { class: look }, block.text));
        continue;
      }
      last = block.label || last;
      said = element("dd", {}, element("span", { class: look }, block.text));
      lines.append(element("dt", {}, block.label), said);
    } else if (block.kind === "table") {
      card.append(...tableOf(block, selection, "hottest operators"));
    }
  }
  const cards = blocks.length ? [card] : [];
  return element("section", { id: "summary", "aria-label": "Summary" }, element("h1", {}, title), ...cards);
}

/**
 * The sections, each closed but for the first.
 * @param {Section[]} sections
 * @param {Selection} selection
 * @returns {HTMLElement}
 */
export function sectionsOf(sections, selection) {
  const made = sections.map((section, at) => sectionOf(section, selection, at === 0 || OPEN_SECTIONS.has(section.name)));
  return view("tables", "Tables", "Every section of the report. Choose a title to sort; choose a line or an "
    + "operator to mark it in all views.", ...made);
}

/**
 * @param {Section} section
 * @param {Selection} selection
 * @param {boolean} open
 */
function sectionOf(section, selection, open) {
  const first = section.blocks[0];
  const titled = first.kind === "heading";
  const title = titled ? first.text : section.name[0].toUpperCase() + section.name.slice(1).replaceAll("-", " ");
  const said = titled ? first.said : first.kind === "paragraph" ? first.text : "";
  const marked = element("span", { class: "marks" });
  const summary = element("summary", {}, element("span", { class: "name" }, title),
    element("span", { class: "said-short" }, said), marked);
  const inside = blocksOf(titled ? section.blocks.slice(1) : section.blocks, selection, title);
  const about = section.means ? [element("p", { class: "about" }, section.means.replaceAll("`", "").replaceAll("*", ""))] : [];
  const box = element("div", { class: "inside" }, ...about, ...inside);
  selection.watch(() => { // after the tables
    const rows = box.querySelectorAll("tr.marked").length;
    marked.textContent = rows ? `${rows} marked` : "";
  });
  return element("details", { class: "tables", id: `section-${section.name}`, ...(open ? { open: true } : {}) },
    summary, box);
}
