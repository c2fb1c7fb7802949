/** Files to save, as buttons: links cannot send a key. */

import { useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { download } from "../api.js";
import { html } from "../html.js";
import { Problem } from "./notices.js";

/**
 * The buttons.
 * @param {string} of what they are files of
 * @param {Array} files [word, url, query] of each
 */
export function Downloads({ of, files }) {
  const [{ busy, error }, setState] = useState({ busy: null, error: null });
  async function save(word, url, query) {
    if (busy) return;
    setState({ busy: word, error: null });
    try {
      await download(url, query);
      announce(`${word} is saved`);
      setState({ busy: null, error: null });
    } catch (problem) {
      setState({ busy: null, error: problem });
    }
  }
  return html`
    <div class="downloads" role="group" aria-label=${`Downloads of ${of}`}>
      <span class="soft small">Download</span>
      ${files.map(([word, url, query]) => html`
        <button type="button" class="quiet" aria-busy=${busy === word} onClick=${() => save(word, url, query)}>${word}${busy === word ? "…" : ""}</button>`)}
    </div>
    ${error && html`<${Problem} error=${error} />`}`;
}
