/** An address that is no view. */

import { html, mount } from "../html.js";

/** Say so, with the way back. */
export async function missingView({ root, signal }) {
  mount(root, html`
    <div class="head"><h1>Nothing is here</h1></div>
    <div class="empty">
      <p class="empty-title">This address is no part of the page.</p>
      <p><a href="#/library">Go to the library</a></p>
    </div>`, signal);
}
