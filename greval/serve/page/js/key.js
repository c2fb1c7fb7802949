/** The API key or token: asked for when the server wants one, kept for this tab only. */

import { render } from "../vendor/preact.js";
import { KeyDialog } from "./components/key_dialog.js";
import { html } from "./html.js";

const NAME = "greval-key";
const TOKEN = /^#token=([^/]+)(\/.*)?$/s;
const WANTED = "Whoever runs the server can give you one.";
const UNKNOWN = "It does not know the key that was used. Whoever runs the server can give you another.";
let asking = null;

/** Keep the token of the address that the server printed, and take it out of the address; false where there is none. */
export function takeToken() {
  const found = TOKEN.exec(location.hash);
  if (!found) return false;
  sessionStorage.setItem(NAME, found[1]);
  history.replaceState(null, "", `#${found[2] ?? "/"}`);
  return true;
}

/** Give the headers that carry the key. */
export function keyHeaders() {
  const key = sessionStorage.getItem(NAME);
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/** Ask for a key once, however many requests wait for it; false where nobody gives one. */
export function askKey() {
  asking ??= ask(sessionStorage.getItem(NAME) ? UNKNOWN : WANTED).finally(() => {
    asking = null;
  });
  return asking;
}

function ask(why) {
  const place = document.createElement("div");
  document.body.append(place);
  return new Promise((resolve) => {
    const finish = (key) => {
      if (key) sessionStorage.setItem(NAME, key);
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
  document.getElementById("forget").hidden = !sessionStorage.getItem(NAME);
}

/** Let the button forget the key. */
export function startForget() {
  document.getElementById("forget").addEventListener("click", () => {
    sessionStorage.removeItem(NAME);
    showForget();
    location.reload();
  });
  showForget();
}
