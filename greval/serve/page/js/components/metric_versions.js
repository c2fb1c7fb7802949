/** The versions of a metric: when each was saved, what changed since, and restoring one. */

import { useState } from "../../vendor/preact_hooks.js";
import { get, name as part } from "../api.js";
import { date } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { Badge } from "./badge.js";
import { Problem } from "./notices.js";

const SIGNS = { same: " ", removed: "−", added: "+" };

/** The versions of a metric; `stamp` changes when it was saved, and `onRestore(version)` restores one. */
export function MetricVersions({ name, stamp, onRestore }) {
  const url = `/v1/metrics/${part(name)}/versions`;
  const { data, error, reload } = useRequest((signal) => get(url, {}, signal), [name, stamp]);
  const [compared, setCompared] = useState(null);
  const versions = data?.versions ?? [];
  return html`
    <section class="sheet stack-small" aria-label="Versions">
      <h2>Versions</h2>
      ${error && html`<${Problem} error=${error} retry=${reload} />`}
      <ol class="versions">${versions.map(({ version, saved, current }) => html`
        <li key=${version}>
          <span>${version}</span> <time datetime=${saved}>${date(saved)}</time>
          ${current
            ? html`<${Badge} tone="good">current<//>`
            : html`
              <button type="button" class="quiet" aria-expanded=${compared === version ? "true" : "false"} aria-label=${`Changes since version ${version}`}
                onClick=${() => setCompared(compared === version ? null : version)}>Changes</button>
              <button type="button" class="quiet" aria-label=${`Restore version ${version}`} onClick=${() => onRestore(version)}>Restore</button>`}
          ${compared === version && html`<${Changes} url=${`${url}/${version}/diff`} stamp=${stamp} />`}
        </li>`)}</ol>
    </section>`;
}

/** The lines that changed from a version to the current one. */
function Changes({ url, stamp }) {
  const { data, error } = useRequest((signal) => get(url, {}, signal), [url, stamp]);
  if (error) return html`<${Problem} error=${error} />`;
  return data && html`
    <ol class="diff block mono" tabindex="0" aria-label=${`Changes from version ${data.old} to ${data.new}`}>${data.lines.map(({ kind, text }) => html`
      <li class=${kind}><span aria-hidden="true">${SIGNS[kind]} </span>${kind !== "same" && html`<span class="unseen">${kind}: </span>`}<span dir="auto">${text || " "}</span></li>`)}</ol>`;
}
