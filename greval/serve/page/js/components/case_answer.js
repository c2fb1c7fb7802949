/** Judging one case within a request, and what the server answered. */

import { useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { post } from "../api.js";
import { counted, seconds } from "../format.js";
import { html } from "../html.js";
import { CaseVerdicts } from "./case_details.js";
import { fieldsFor } from "./case_form.js";
import { EmptyState, Notice, Problem } from "./notices.js";
import { readRow } from "./rows_field.js";

const TICK_MS = 200;
const SHOWN = ["claims", "expected_claims", "chunks", "triples", "traversal", "gold", "usage"];

/**
 * Judge the case of a form, and stop that.
 * @param {Object} form the handle of a `CaseForm`
 * @param {Function} ask returns, or promises, the further fields of the request as `body`, the metrics that were chosen as `chosen`,
 *   and `describe(names, signal)`, which returns what is known of the metrics that judged; it may throw an error
 * @returns {{answer, toggle}} the state for `CaseAnswer`, and what starts or stops it
 */
export function useJudging(form, ask) {
  const [answer, setAnswer] = useState({});
  const running = useRef(null);
  useEffect(() => () => running.current?.abort(), []);

  async function run() {
    let given;
    let asked;
    try {
      asked = await ask();
      given = form.current.read();
    } catch (error) {
      return setAnswer({ error });
    }
    const { signal } = (running.current = new AbortController());
    setAnswer({ began: performance.now() });
    announce("Judging");
    try {
      const found = await post("/v1/evaluate", { cases: [given], ...asked.body }, signal);
      const metrics = await asked.describe(found.results.map(({ metric }) => metric), signal);
      announce(`Judged: ${countOutcomes(found.results)}`);
      setAnswer({ ...found, given: keepJudged(given, asked.chosen), metrics });
    } catch (error) {
      setAnswer(error.name === "AbortError" ? { stopped: true } : { error, retry: run });
    }
    running.current = null;
    return null;
  }
  return { answer, toggle: () => (running.current ? running.current.abort() : run()) };
}

/** What the server answered, or what became of the request. */
export function CaseAnswer(answer) {
  const place = useRef(null);
  const { began, results } = answer;
  useLayoutEffect(() => {
    if (results && place.current.getBoundingClientRect().top > innerHeight * 0.7) place.current.scrollIntoView({ block: "start" });
  }, [results]);
  return html`
    <section class="stack" aria-label="Verdicts" aria-busy=${began ? "true" : null} ref=${place}>
      ${began ? html`<${Clock} began=${began} />` : html`<${AnswerContent} ...${answer} />`}
    </section>`;
}

function AnswerContent({ error, retry, stopped, results, unread, notice, given, metrics, hint }) {
  if (error) return html`<${Problem} error=${error} retry=${retry} />`;
  if (stopped) return html`<${Notice}>Stopped. Nothing more is asked.<//>`;
  if (!results) return html`<${EmptyState} title="Verdicts appear here.">${hint}<//>`;
  const unreadRows = unread?.map((row) => row.message).join("\n");
  return html`
    ${notice && html`<${Notice}><p>${notice}</p><//>`}
    ${unreadRows && html`<${Problem} error=${{ title: "This is no case", detail: unreadRows }} />`}
    ${results.length > 0 && html`
      <p class="soft">${countOutcomes(results)}</p>
      <${CaseVerdicts} given=${given} results=${results} metrics=${metrics} />`}`;
}

/** For how long it has been judging. */
function Clock({ began }) {
  const [now, setNow] = useState(began);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return html`<${EmptyState} busy title=${`Judging… ${seconds((now - began) / 1000)}`} />`;
}

/** Format how many results are scored, skipped and failed. */
function countOutcomes(results) {
  const countOf = (status) => results.filter(({ outcome }) => outcome.status === status).length;
  const parts = ["scored", "skipped", "failed"].filter(countOf).map((status) => `${countOf(status)} ${status}`);
  return `${counted(results.length, "result")}: ${parts.join(", ")}`;
}

/** Return what some metrics judged of a case, by greval's names; items without an id get one by their position. */
function keepJudged(given, metrics) {
  const chunks = given.chunks ?? given.retrieved_contexts ?? given.retrieval_context ?? given.contexts;
  const items = {
    chunks: numberItems("c", chunks), triples: numberItems("t", given.triples),
    claims: numberItems("a", given.claims), expected_claims: numberItems("e", given.expected_claims),
  };
  const needed = fieldsFor(metrics);
  const tags = Object.entries(given.tags ?? {}).filter(([name]) => needed.includes(`tags.${name}`));
  const whole = { ...given, ...items };
  return {
    ...Object.fromEntries(SHOWN.filter((name) => needed.includes(name)).map((name) => [name, whole[name]])),
    tags: Object.fromEntries(tags),
    ...(metrics.some(({ preference }) => preference) && { method: given.method, other_response: given.other_response }),
  };
}

const numberItems = (letter, items) => items?.map((item, place) => ({ id: `${letter}${place + 1}`, ...readRow(item) }));
