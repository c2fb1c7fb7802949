/** The head of a view. */

import { html } from "../html.js";

/** The head of a view: crumbs as [address, text], the heading, a line below it, and its actions. */
export const ViewHead = ({ title, crumbs = [], lead, actions }) => html`
  <div class="head">
    <div>
      ${crumbs.length > 0 && html`
        <p class="crumbs">${crumbs.map(([href, word], place) => html`${place > 0 && " / "}<a href=${href}><bdi>${word}</bdi></a>`)}</p>`}
      <h1 dir="auto">${title}</h1>
      ${lead && html`<p class="soft">${lead}</p>`}
    </div>
    ${actions}
  </div>`;
