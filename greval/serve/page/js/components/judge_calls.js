/** What the judge saw for a result: each call with its prompt, its answer schema and the reply, word for word. */

import { useState } from "../../vendor/preact_hooks.js";
import { get, name as part } from "../api.js";
import { count, counted, seconds } from "../format.js";
import { html } from "../html.js";
import { useRequest } from "../hooks.js";
import { EmptyState, Problem } from "./notices.js";

/** The stored calls of a result, which are requested once they are opened; nothing if its judge was not called. */
export function JudgeCalls({ run, result }) {
  const [opened, setOpened] = useState(false);
  if (!result.usage.calls && !result.usage.hits) return null;
  return html`
    <details class="judge-calls" onToggle=${({ target }) => target.open && setOpened(true)}>
      <summary>What the judge saw<span class="unseen"> for ${result.metric}</span></summary>
      ${opened && html`<${CallList} run=${run} result=${result} />`}
    </details>`;
}

function CallList({ run, result }) {
  const { sample_id: sample, method, metric, repeat } = result;
  const { data, error, reload } = useRequest(
    (signal) => get(`/v1/runs/${part(run)}/calls`, { sample_id: sample, method, metric }, signal), [run, sample, method, metric],
  );
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="soft">Reading…</p>`;
  const calls = data.calls.filter((call) => call.repeat === repeat);
  if (!calls.length) return html`<${EmptyState} title="No call is stored.">The run was told not to store calls, or it is older than that.<//>`;
  return calls.map((call, place) => html`<${Call} key=${place} call=${call} metric=${metric} title=${calls.length > 1 ? `Call ${place + 1} of ${calls.length}` : ""} />`);
}

const Call = ({ call, metric, title }) => html`
  <section class="stack-small" aria-label=${`${title || "Call"} for ${metric}`}>
    <p class="small soft">${[title, call.judge, formatUsage(call)].filter(Boolean).join(" · ")}</p>
    ${call.messages.map(({ role, text }) => html`<${Block} title=${role} content=${text} />`)}
    <${Block} title="reply" content=${call.reply} missing=${call.failure ? `${call.failure.kind}: ${call.failure.message}` : "empty"} />
    <details><summary>Answer schema</summary><pre class="block" tabindex="0" dir="auto">${JSON.stringify(call.answer_schema, null, 2)}</pre></details>
  </section>`;

const Block = ({ title, content, missing }) => html`
  <figure>
    <figcaption class="small">${title}</figcaption>
    ${content ? html`<pre class="block" tabindex="0" dir="auto">${content}</pre>` : html`<p class="soft"><bdi>${missing ?? "–"}</bdi></p>`}
  </figure>`;

const formatUsage = ({ usage, latency }) => [
  usage.hits > 0 && !usage.calls ? "reused" : counted(usage.calls, "call"),
  usage.input_tokens !== null && `${count(usage.input_tokens)} tokens in`,
  usage.output_tokens !== null && `${count(usage.output_tokens)} out`,
  seconds(latency),
].filter(Boolean).join(" · ");
