/** Making elements. Data only ever becomes text nodes and attributes, never markup. */

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "g", "rect", "line", "circle", "path", "text", "title"]);
const LIVE = new Set(["value", "checked", "disabled", "hidden", "readOnly", "open", "indeterminate"]);

/**
 * Give an element.
 * @param {string} name its tag
 * @param {Object} props attributes; `onNAME` listeners; `size` a share of the width (0 to 1)
 * @param {...any} children nodes, texts, lists of them; null and false are left out
 */
export function h(name, props, ...children) {
  const node = SHAPES.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(props ?? {})) set(node, key, value);
  node.append(...parts(children));
  return node;
}

function set(node, key, value) {
  if (value === undefined || value === null) return;
  if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
  else if (key === "size") node.style.width = `${100 * value}%`;
  else if (LIVE.has(key)) node[key] = value;
  else if (value !== false) node.setAttribute(key, value === true ? "" : value);
}

function parts(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Put new content in place of what an element holds. */
export function fill(node, ...children) {
  node.replaceChildren(...parts(children));
  return node;
}

/** Text that came from data: any script, its line breaks kept. */
export const text = (content, extra = "") => h("span", { class: `text ${extra}`, dir: "auto" }, content);

/** A short piece of data, such as a name, within other words. */
export const data = (content) => h("span", { dir: "auto" }, content);

let last = 0;
/** Give an id that no other element has. */
export const newId = (word = "e") => `${word}-${(last += 1)}`;

/** Say something to those who do not see the screen. */
export function announce(message) {
  const live = document.getElementById("live");
  if (live.textContent !== message) live.textContent = message;
}
