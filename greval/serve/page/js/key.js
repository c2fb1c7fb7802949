/** Asks for the API key when the server wants one, and forgets it. */

import { render } from "../vendor/preact.js";
import { KeyDialog } from "./components/key_dialog.js";
import { html } from "./html.js";
import { readKey, removeKey, storeKey } from "./key_store.js";

const WANTED = "Whoever runs the server can give you one.";
const UNKNOWN = "It does not know the key that was used. Whoever runs the server can give you another.";
let asking = null;

/** Ask for a key once, however many requests wait for it; false where nobody gives one. */
export function askKey() {
  asking ??= ask(readKey() ? UNKNOWN : WANTED).finally(() => {
    asking = null;
  });
  return asking;
}

function ask(why) {
  const place = document.createElement("div");
  document.body.append(place);
  return new Promise((resolve) => {
    const finish = (key) => {
      if (key) storeKey(key);
      render(null, place);
      place.remove();
      showForget();
      resolve(Boolean(key));
    };
    render(html`<${KeyDialog} why=${why} onClose=${finish} />`, place);
  });
}

/** Show the button that forgets the key while there is one. */
export function showForget() {
  document.getElementById("forget").hidden = !readKey();
}

/** Let the button forget the key. */
export function startForget() {
  document.getElementById("forget").addEventListener("click", () => {
    removeKey();
    showForget();
    location.reload();
  });
  showForget();
}
