/** The choice of a judge. */

import { choice, field } from "./field.js";
import { notice } from "./problem.js";

const NONE = "This server has no judge: only computed metrics work.";

/** Give {element, value()}: the judges of the server, or that it has none. */
export function judgeField(judges, chosen, onchange) {
  if (!judges.length) return { element: notice("warn", NONE), value: () => null };
  const options = judges.map(({ name, label }) => [name, label && label !== name ? `${name} (${label})` : name]);
  const known = judges.some(({ name }) => name === chosen) ? chosen : judges[0].name;
  const control = choice(options, known, onchange);
  return { element: field("Judge", control), value: () => control.value };
}
