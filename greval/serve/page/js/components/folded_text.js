/** A long text of data: its begin, and all of it on request. */

import { useState } from "../../vendor/preact_hooks.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { Text } from "./text.js";

const MAX_CHARACTERS = 1200;

/** A text that is folded if it is long. */
export function FoldedText({ content }) {
  const [open, setOpen] = useState(false);
  if (content.length <= MAX_CHARACTERS) return html`<p><${Text}>${content}<//></p>`;
  return html`
    <div class="fold">
      <p><${Text}>${open ? content : `${content.slice(0, MAX_CHARACTERS)}…`}<//></p>
      <button type="button" class="quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        ${open ? "Show less" : `Show all ${count(content.length)} characters`}
      </button>
    </div>`;
}
