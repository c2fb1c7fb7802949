/** Dialogs. */

import { useLayoutEffect, useRef } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";

/**
 * A dialog that is open as long as it is there. Escape and its buttons close it; the focus goes back to where it was.
 * `onClose` gets the value of the button that was pressed, which is empty for "Close" and Escape.
 */
export function Dialog({ title, onClose, buttons, children, closeLabel = "Close" }) {
  const dialog = useRef(null);
  useLayoutEffect(() => dialog.current.showModal(), []);
  return html`
    <dialog aria-label=${title} ref=${dialog} onClose=${() => onClose(dialog.current.returnValue)}>
      <form method="dialog">
        <h2>${title}</h2>
        ${children}
        <div class="actions">${buttons}<button type="button" onClick=${() => dialog.current.close("")}>${closeLabel}</button></div>
      </form>
    </dialog>`;
}
