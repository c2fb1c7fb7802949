/** The choice of a judge. */

import { html } from "../html.js";
import { Field, Select } from "./fields.js";
import { Notice } from "./notices.js";

/** The judges of the server, or that it has none. */
export function JudgeSelect({ judges, value, onChange }) {
  if (!judges.length) return html`<${Notice} tone="warn">This server has no judge: only computed metrics work.<//>`;
  const options = judges.map(({ name, label }) => [name, label && label !== name ? `${name} (${label})` : name]);
  return html`<${Field} label="Judge"><${Select} options=${options} value=${value} onChange=${onChange} /><//>`;
}

/** Returns the name of the judge to begin with: the wanted one if there is one of this name, else the default. */
export const chooseJudge = (judges, wanted) => (judges.find(({ name }) => name === wanted) ?? judges[0])?.name ?? null;
