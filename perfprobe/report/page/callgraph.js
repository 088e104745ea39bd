// The call graph, as Graphviz drew it. As a picture its texts cannot act on the page.

import { absent, choices, element, view } from "./nodes.js";

/**
 * @param {{svg?: string, missing?: string}} graph
 * @returns {HTMLElement}
 */
export function callgraphOf(graph) {
  if (!graph.svg) return absent("callgraph", "Call graph", graph.missing ?? "");
  const address = URL.createObjectURL(new Blob([graph.svg], { type: "image/svg+xml" }));
  const picture = element("img", { src: address, alt: "Call graph: functions and operators with their shares" });
  const box = element("div", { class: "graph", tabindex: "0", role: "region", "aria-label": "picture of the call graph" }, picture);
  const buttons = choices("size", [{ text: "fit" }, { text: "full size" }], (at) => box.classList.toggle("fit", at === 0));
  buttons.press(0);
  return view("callgraph", "Call graph", "Functions and operators with their share of the time, and who called them.",
    element("div", { class: "bar" }, buttons.node), box);
}
