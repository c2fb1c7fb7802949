/** The dialog that asks for a key or token. */

import { useRef } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";
import { Dialog } from "./dialog.js";

const PRINTED = "If you started it yourself, open the address that it printed, or enter the token of that address.";

/** Ask for a key; `onClose` gets it, or the empty text. */
export function KeyDialog({ why, onClose }) {
  const input = useRef(null);
  const finish = (answer) => onClose(answer ? input.current.value.trim() : "");
  return html`
    <${Dialog} title="This server wants a key" onClose=${finish} closeLabel="Cancel"
      buttons=${html`<button class="primary" value="ok">Use key</button>`}>
      <p class="soft">${why} ${PRINTED}</p>
      <div class="field">
        <label for="key">Key</label>
        <input type="password" id="key" autocomplete="off" spellcheck=${false} required ref=${input} />
      </div>
      <p class="soft small">Kept in this tab until you close it, and sent to this server only.</p>
    <//>`;
}
