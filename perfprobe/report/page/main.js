// Puts the views together.

import { callgraphOf } from "./callgraph.js";
import { courseOf } from "./course.js";
import { read } from "./data.js";
import { flameOf } from "./flame.js";
import { byId, element, view } from "./nodes.js";
import { screenOf, sectionsOf } from "./screen.js";
import { Selection } from "./selection.js";
import { sourceOf } from "./source.js";
import { timelineOf } from "./timeline.js";

/** @typedef {import("./data.js").Known} Known */

const THEMES = /** @type {const} */ ({ light: "☾", dark: "☀" });

/** The theme of the system, until the reader chooses one. */
function themed() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement, button = byId("theme");
  let chosen = "";
  const show = () => {
    const theme = chosen || (system.matches ? "dark" : "light");
    root.dataset.theme = theme;
    button.textContent = THEMES[/** @type {"light" | "dark"} */ (theme)];
    button.title = theme === "dark" ? "light" : "dark";
    document.dispatchEvent(new Event("theme"));
  };
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  show();
}

/**
 * @param {Known} known
 * @param {Selection} selection
 */
function views(known, selection) {
  const { head } = known;
  const timeline = timelineOf(known, selection);
  /** @param {number} step */
  const showStep = (step) => {
    timeline.showStep(step);
    timeline.node.scrollIntoView();
  };
  return [
    screenOf(head.screen, head.title, selection),
    sectionsOf(head.sections, selection),
    timeline.node,
    flameOf(known, selection),
    sourceOf(head.sources, head.bars, selection),
    courseOf(known, showStep),
    callgraphOf(head.callgraph),
  ];
}

/**
 * What a recording does not have, and why, in one place.
 * @param {HTMLElement[]} missing
 */
function notThere(missing) {
  const why = missing.flatMap((each) => [element("dt", {}, each.querySelector("h2")?.textContent ?? ""),
    element("dd", {}, each.dataset.absent ?? "")]);
  return view("absent", "Not in this recording", "", element("dl", { class: "absent" }, ...why));
}

/** @param {HTMLElement[]} all */
function linked(all) {
  const nav = byId("views");
  /** @type {Map<Element, HTMLElement>} */
  const links = new Map();
  for (const node of all) {
    const title = node.querySelector("h2")?.textContent ?? "Summary";
    const link = element("a", { href: `#${node.id}` }, title);
    // The address keeps the selection, so a link only moves.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      node.scrollIntoView();
    });
    links.set(node, link);
    nav.append(link);
  }
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      for (const [node, link] of links) {
        if (node === target) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-15% 0px -80% 0px" });
  for (const node of all) seen.observe(node);
}

/** @param {Selection} selection */
function chosen(selection) {
  const input = /** @type {HTMLInputElement} */ (byId("sought"));
  input.addEventListener("input", () => {
    selection.choose(input.value.trim() ? { kind: "text", value: input.value.trim() } : null);
  });
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    const row = document.querySelector("main tr.marked");
    const box = row?.closest("details");
    if (box) box.open = true;
    row?.scrollIntoView({ block: "center" });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    input.focus();
  });
  selection.watch((now) => {
    byId("chosen").replaceChildren();
    if (now?.kind !== "text") input.value = "";
    if (!now) return;
    if (now.kind === "text") input.value = now.value;
    const clear = element("button", { type: "button", "aria-label": "clear the selection", click: () => selection.choose(null) }, "×");
    byId("chosen").append(element("span", { class: "chip" }, element("span", {}, now.value), clear));
  });
  window.addEventListener("hashchange", () => selection.fromAddress());
}

/** Paper is light, and has all tables. */
function printed() {
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  let theme = "";
  window.addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme ?? "";
    document.documentElement.dataset.theme = "light";
    opened = [...document.querySelectorAll("details")].filter((each) => !each.open);
    for (const each of opened) each.open = true;
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = theme;
    for (const each of opened) each.open = false;
  });
}

/** Reads the data and shows it. */
async function main() {
  const report = byId("report");
  try {
    const known = await read(byId("data").textContent ?? "");
    const { head } = known;
    document.title = `${head.title} · perfprobe`;
    const selection = new Selection(head.places);
    themed();
    const made = views(known, selection);
    const missing = made.filter((each) => each.dataset.absent !== undefined);
    const said = head.versions.length ? [] : missing; // a comparison has fewer views
    const all = [...made.filter((each) => !missing.includes(each)), ...(said.length ? [notThere(said)] : [])];
    const end = element("footer", {}, "Written by perfprobe. This file needs no network and sends nothing.");
    report.replaceChildren(...all, end);
    linked(all);
    chosen(selection);
    printed();
    selection.fromAddress();
    document.documentElement.dataset.state = "ready";
  } catch (error) {
    report.replaceChildren(element("p", {}, `This page cannot be shown: ${error}. It needs a browser of 2023 or newer.`));
    throw error;
  }
}

await main();
