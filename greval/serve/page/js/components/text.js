/** Text of data. */

import { html } from "../html.js";

/** A text of data: any script, its line breaks kept. */
export const Text = ({ class: extra = "", children }) =>
  html`<span class=${`text ${extra}`} dir="auto">${children}</span>`;
