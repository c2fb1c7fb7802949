/** The walk through the graph: where it began, the edges it took, where it ended, and what was expected. */

import { compareWalk } from "../graph_walk.js";
import { html } from "../html.js";

const MARKS = { hit: "expected", miss: "expected, not walked", extra: "not expected" };

/** The walk of a case. */
export function WalkDetails({ given }) {
  const { starts, edges, finals, expected } = compareWalk(given);
  return html`
    <div class="walk">
      <${Step} name="Start"><${NodeList} nodes=${starts} /><//>
      <${Step} name="Edges, in order"><${EdgeList} edges=${edges} /><//>
      <div class="stack">
        <${Step} name="End"><${NodeList} nodes=${finals} /><//>
        ${expected?.length > 0 && html`<${Step} name="Expected nodes"><${NodeList} nodes=${expected} /><//>`}
      </div>
    </div>`;
}

const Step = ({ name, children }) => html`<section class="walk-step" aria-label=${name}><h3>${name}</h3>${children}</section>`;

const NodeList = ({ nodes }) => (nodes.length
  ? html`<p class="nodes">${nodes.map(([name, mark]) => html`<${Node} name=${name} mark=${mark} />`)}</p>`
  : html`<span class="soft">none</span>`);

const EdgeList = ({ edges }) => (edges.length
  ? html`<ol class="edges">${edges.map(([[source, label, target], mark]) => html`
      <li class=${`edge ${mark}`}>
        <${Node} name=${source} /><span class="edge-label" dir="auto">${label}</span><${Node} name=${target} />
        ${mark && html`<span class="small edge-mark">${MARKS[mark]}</span>`}
      </li>`)}</ol>`
  : html`<span class="soft">none</span>`);

const Node = ({ name, mark = "" }) => html`
  <span class=${`node ${mark}`} title=${MARKS[mark]}><bdi>${name}</bdi>${mark && html`<span class="unseen"> (${MARKS[mark]})</span>`}</span>`;
