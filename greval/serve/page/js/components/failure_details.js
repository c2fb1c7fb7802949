/** Judgements that failed: why, what to do, and what the judge said word for word. */

import { html } from "../html.js";
import { Badge } from "./badge.js";
import { Text } from "./text.js";

/** What to do for each kind of failure. */
export const WHAT_TO_DO = {
  refusal: "The model refused to judge. Look at the case; another judge may answer.",
  content_filter: "The provider's filter withheld the answer. Look at the case; another judge may answer.",
  length: "The answer was cut. The operator can allow the judge longer answers; fewer items at once help too.",
  timeout: "No answer in time. Judge fewer at once, or let the operator give the judge more time.",
  malformed: "No readable verdict, twice. Read what the judge said; a stronger judge may be needed.",
  off_scale: "A value that is not on the scale, twice. Describe the values of the scale more clearly.",
  missing_item: "An item got no verdict, or several, twice. Fewer items at once help.",
  no_majority: "The repeats are tied. Repeat more often, an odd number of times.",
  dependency: "A metric that this one builds on failed for the case. Mend that one; resuming asks both again.",
  data: "The case contradicts itself, such as one id for two chunks. Mend the data.",
  context_window: "The case is longer than the model takes. Shorten it, or choose another judge.",
  rate_limit: "The provider's limit, also after waiting. Judge fewer at once, or resume later.",
  quota: "The account's money or quota is used up. See the provider's billing page, then resume.",
  authentication: "The judge's key is missing or refused. The operator of this server must set it.",
  connection: "The judge could not be reached, or hung up. Resume when it is there again.",
  server: "The judge's server answered with an error. Resume later.",
  request: "The judge's server refused the request. See the message; the model's name may be wrong.",
  method: "The method under test gave nothing for the question. Collect its responses again.",
  error: "See the message.",
};

/** A failure in full. */
export const FailureDetails = ({ failure: { kind, message, raw } }) => html`
  <div class="failure">
    <p class="failure-head"><${Badge} tone="bad">${kind}<//> <${Text}>${message}<//></p>
    <p class="soft small">${WHAT_TO_DO[kind] ?? WHAT_TO_DO.error}</p>
    ${raw && html`<details><summary>What the judge said</summary><pre class="block" dir="auto">${raw}</pre></details>`}
  </div>`;

/** Returns every failure of an outcome. */
export function failuresOf(outcome) {
  if (outcome.failures?.length) return outcome.failures;
  return outcome.error ? [outcome.error] : [];
}
