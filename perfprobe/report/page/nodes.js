// Elements. Whatever comes from a recording becomes text, never HTML.

/**
 * An element with attributes and what is in it. Texts become text nodes.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | boolean | ((event: any) => void)>} attributes
 * @param {...(Node | string)} inside
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
}

/**
 * An element of the page's own frame.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

/**
 * The classes of a style as sections name it: "bold red".
 * @param {string} style
 * @returns {string}
 */
export function classes(style) {
  return style.split(" ").filter((word) => /^[a-z]+$/.test(word)).join(" ");
}

/**
 * A view of the page.
 * @param {string} id
 * @param {string} title
 * @param {string} about
 * @param {...(Node | string)} inside
 * @returns {HTMLElement}
 */
export function view(id, title, about, ...inside) {
  const heading = element("h2", { id: `${id}-title` }, title);
  const said = about ? [element("p", { class: "about" }, about)] : [];
  return element("section", { id, "aria-labelledby": heading.id }, heading, ...said, ...inside);
}

/**
 * A view without anything to show.
 * @param {string} id
 * @param {string} title
 * @param {string} why
 * @returns {HTMLElement}
 */
export function absent(id, title, why) {
  const made = view(id, title, why);
  made.dataset.absent = why;
  return made;
}

/**
 * Buttons of which one is pressed.
 * @param {string} label
 * @param {{text: string, small?: string}[]} choices
 * @param {(at: number) => void} choose
 * @returns {{node: HTMLElement, press: (at: number) => void}}
 */
export function choices(label, choices, choose) {
  const buttons = choices.map(({ text, small }, at) => {
    const inside = small ? [`${text} `, element("small", {}, small)] : [text];
    return element("button", { type: "button", "aria-pressed": "false", click: () => press(at) }, ...inside);
  });
  /** @param {number} at */
  const press = (at) => {
    buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === at)));
    choose(at);
  };
  return { node: element("div", { class: "choices", role: "group", "aria-label": label }, ...buttons), press };
}

/**
 * A colour of the style sheet, in the theme that is shown.
 * @param {string} name
 * @returns {string}
 */
export function color(name) {
  const known = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return known || getComputedStyle(document.documentElement).getPropertyValue("--other").trim();
}

/**
 * Moves what scrolls around some rows, so that the first that is marked is seen. The page itself stays.
 * @param {HTMLElement[]} rows
 */
export function reveal(rows) {
  const row = rows.find((each) => each.classList.contains("marked") && each.offsetParent);
  const box = /** @type {HTMLElement | null} */ (row?.closest(".scroller") ?? null);
  if (!row || !box || box.scrollHeight <= box.clientHeight) return;
  const seen = row.offsetTop > box.scrollTop && row.offsetTop < box.scrollTop + box.clientHeight - row.offsetHeight;
  if (!seen) box.scrollTop = row.offsetTop - box.clientHeight / 3;
}

/**
 * What the colours of some kinds mean.
 * @param {string[]} kinds
 * @param {Record<string, string>} said
 * @returns {HTMLElement}
 */
export function legend(kinds, said = {}) {
  const items = kinds.map((kind) => {
    const swatch = element("i", { "aria-hidden": "true" });
    swatch.style.background = `var(--${kind}, var(--other))`;
    return element("li", {}, swatch, said[kind] ?? kind);
  });
  return element("ul", { class: "legend" }, ...items);
}

/**
 * Shows a text beside the pointer; "" hides it.
 * @param {string} text
 * @param {MouseEvent} [event]
 */
export function tip(text, event) {
  const node = byId("tip");
  node.hidden = text === "";
  node.textContent = text;
  if (!event || !text) return;
  const { innerWidth, innerHeight } = window;
  const { width, height } = node.getBoundingClientRect();
  node.style.left = `${Math.max(Math.min(event.clientX + 14, innerWidth - width - 8), 4)}px`;
  node.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
}
