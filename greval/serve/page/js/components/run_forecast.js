/** What a run would ask before it starts: results, calls, tokens and cost, without a call. */

import { useEffect, useState } from "../../vendor/preact_hooks.js";
import { post } from "../api.js";
import { count, counted, dollars } from "../format.js";
import { html } from "../html.js";

const WAIT_MS = 300; // what somebody ticks or types next replaces the forecast before
const MAX_SHOWN = 5;

/** The forecast of a run; `asked` is the request of the run, null while there is none. */
export function RunForecast({ asked }) {
  const { told, busy } = useForecast(asked);
  return html`
    <div class="stack-small" role="status">
      ${busy && html`<p class="soft small">Estimating what it would ask…</p>`}
      ${told && !busy && html`<${ForecastText} told=${told} />`}
    </div>`;
}

function useForecast(asked) {
  const key = asked && JSON.stringify(asked);
  const [state, setState] = useState({ key: null, told: null });
  useEffect(() => {
    if (key === null) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      post("/v1/forecast", JSON.parse(key), controller.signal).then(
        (told) => setState({ key, told }),
        () => controller.signal.aborted || setState({ key, told: null }), // starting the run says what is wrong
      );
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key]);
  return { told: key === null ? null : state.told, busy: key !== null && state.key !== key };
}

function ForecastText({ told }) {
  const fitting = new Set(told.fitting.map(({ metric }) => metric));
  const idle = told.metrics.filter(({ judged }) => !judged).map(({ metric }) => metric).filter((name) => !fitting.has(name));
  const price = told.cost === null ? (told.calls ? "no price is known" : null) : `about ${dollars(told.cost)}`;
  const parts = [
    counted(told.results, "result"), counted(told.calls, "call"),
    told.calls > 0 && `${told.exact ? "" : "about "}${count(told.input_tokens)} tokens in`,
    told.calls > 0 && `about ${count(told.output_tokens)} out`, told.calls > 0 && price,
  ];
  return html`
    <p><strong>It would ask:</strong> ${parts.filter(Boolean).join(" · ")}</p>
    ${told.calls > 0 && html`<p class="small soft">Without retries. Replies that are known already cost nothing.</p>`}
    ${idle.length > 0 && html`<p class="small warn-text">No case has what ${listNames(idle)} needs: skipped.</p>`}`;
}

const listNames = (names) => (names.length > MAX_SHOWN
  ? `${names.slice(0, MAX_SHOWN).join(", ")} and ${count(names.length - MAX_SHOWN)} more`
  : names.join(", "));
