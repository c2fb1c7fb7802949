/** An address that is no view. */

import { EmptyState } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { html } from "../html.js";

/** The view of an unknown address, with the way back. */
export const MissingView = () => html`
  <${ViewHead} title="Nothing is here" />
  <${EmptyState} title="This address is no part of the page."><a href="#/library">Go to the library</a><//>`;
