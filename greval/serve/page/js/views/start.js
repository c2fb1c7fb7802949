/** The start: three doors to what the page is for. */

import { useRef, useState } from "../../vendor/preact_hooks.js";
import { post } from "../api.js";
import { Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const TITLE = "Is B better than A, and can you believe the judge?";
const LEAD = "A model judges answers by what you say is good, with a reason for each. Every figure says how sure it is.";

/** The doors: an example that is judged already, cases of one's own, a metric. */
export function StartView() {
  const [error, setError] = useState(null);
  const busy = useRef(false);
  async function openExample() {
    if (busy.current) return;
    busy.current = true;
    setError(null);
    try {
      const { id } = await post("/v1/runs/example");
      go(at(["runs", id]));
    } catch (refused) {
      setError(refused);
    }
    busy.current = false;
  }
  return html`
    <${ViewHead} title=${TITLE} lead=${LEAD} />
    ${error && html`<${Problem} error=${error} />`}
    <div class="doors">
      <${Door} title="Look at a run" action=${html`<button type="button" class="primary" onClick=${openExample}>Open the example run</button>`}>
        Questions about a ferry company, answered in two ways and judged by a small model: which way is better, where the
        other one fails, and how far the judge agrees with a person.
      <//>
      <${Door} title="Judge your answers" action=${html`<a class="button primary" href="#/new-run">Bring your cases</a>`}>
        A table or JSON with questions and answers. See how its columns are read, choose metrics that fit them, and see what
        a run would cost before it starts.
      <//>
      <${Door} title="Say what good means" action=${html`<a class="button primary" href="#/metrics/new">Write a metric</a>`}>
        A name, the values with their meaning, and the steps of a careful reader. Try it on a case while you write, and use
        it in any run.
      <//>
    </div>`;
}

const Door = ({ title, action, children }) => html`
  <section class="sheet door">
    <h2>${title}</h2>
    <p class="soft">${children}</p>
    <p>${action}</p>
  </section>`;
