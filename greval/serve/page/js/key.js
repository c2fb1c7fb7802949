/** The API key or token: asked for when the server wants one, kept for this tab only. */

import { h } from "./dom.js";

const NAME = "greval-key";
const TOKEN = /^#token=([^/]+)(\/.*)?$/s;
const WANTED = "Whoever runs the server can give you one.";
const UNKNOWN = "It does not know the key that was used. Whoever runs the server can give you another.";
const PRINTED = "If you started it yourself, open the address that it printed, or enter the token of that address.";
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
  const input = h("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "key-title" }, "This server wants a key"),
    h("p", { class: "soft" }, `${why} ${PRINTED}`),
    h("div", { class: "field" }, h("label", { for: "key" }, "Key"), input),
    h("p", { class: "soft small" }, "Kept in this tab until you close it, and sent to this server only."),
    h("div", { class: "actions" },
      h("button", { class: "primary", value: "ok" }, "Use key"),
      h("button", { type: "button", onclick: () => dialog.close("") }, "Cancel")),
  );
  const dialog = h("dialog", { "aria-labelledby": "key-title" }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const key = dialog.returnValue === "ok" ? input.value.trim() : "";
      if (key) sessionStorage.setItem(NAME, key);
      dialog.remove();
      showForget();
      resolve(Boolean(key));
    });
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
