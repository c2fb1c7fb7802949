/** Components of the page: templates that become elements, and how a view is put on the page. */

import { default as htm } from "../vendor/htm.js";
import { h, render } from "../vendor/preact.js";

/** Make elements of a template. Data only ever becomes text nodes and attributes, never markup. */
export const html = htm.bind(h);

/** Show a component in an element until the signal is aborted. */
export function mount(root, component, signal) {
  render(component, root);
  signal.addEventListener("abort", () => render(null, root), { once: true });
}
