/** The playground: judge one case by some metrics, and read the verdicts beside what was judged. */

import { useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { post } from "../api.js";
import { allJudges, allMetrics, knownMetrics } from "../catalogue.js";
import { CaseForm, fieldsFor } from "../components/case_form.js";
import { CaseVerdicts } from "../components/case_details.js";
import { JudgeSelect, chooseJudge } from "../components/judge_select.js";
import { MetricPicker } from "../components/metric_picker.js";
import { EmptyState, Notice, Problem } from "../components/notices.js";
import { readRow } from "../components/rows_field.js";
import { ViewHead } from "../components/view_head.js";
import { EXAMPLE, EXAMPLE_METRICS } from "../example_case.js";
import { counted, seconds } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const TICK_MS = 200;
const NO_METRIC = { title: "No metric is chosen", detail: "Tick at least one metric." };
const SHOWN = ["chunks", "triples", "traversal", "gold", "usage"];

/** The form of a case, and beside it the verdicts. */
export function PlaygroundView({ query }) {
  const { data, error, reload } = useRequest(() => Promise.all([allMetrics(), allJudges()]), []);
  return html`
    <${ViewHead} title="Playground" lead="Judge one case and read the reasons." />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`<${Playground} metrics=${data[0]} judges=${data[1]} query=${query} />`}`;
}

function Playground({ metrics, judges, query }) {
  const [chosen, setChosen] = useState(() => query.getAll("metric").filter((name) => metrics.has(name)));
  const [judge, setJudge] = useState(() => chooseJudge(judges, query.get("judge")));
  const [answer, setAnswer] = useState({});
  const form = useRef(null);
  const running = useRef(null);
  useLayoutEffect(() => {
    go(at("playground", { metric: chosen, judge: judge === judges[0]?.name ? null : judge }), { replace: true });
  }, [chosen, judge]);
  useEffect(() => () => running.current?.abort(), []);

  async function run() {
    if (!chosen.length) return setAnswer({ error: NO_METRIC });
    let given;
    try {
      given = form.current.read();
    } catch (error) {
      return setAnswer({ error });
    }
    const { signal } = (running.current = new AbortController());
    setAnswer({ began: performance.now() });
    announce("Judging");
    try {
      const found = await post("/v1/evaluate", { cases: [given], metrics: chosen, judge }, signal);
      const known = await knownMetrics(found.results.map(({ metric }) => metric), signal);
      announce(`Judged: ${countOutcomes(found.results)}`);
      setAnswer({ ...found, given: keepJudged(given, chosen.map((name) => metrics.get(name))), metrics: known });
    } catch (error) {
      setAnswer(error.name === "AbortError" ? { stopped: true } : { error, retry: run });
    }
    running.current = null;
    return null;
  }
  function submit(event) {
    event.preventDefault();
    if (running.current) running.current.abort();
    else run();
  }
  function fillExample() {
    if (!chosen.length) setChosen(EXAMPLE_METRICS.filter((name) => metrics.has(name)));
    form.current.fill(structuredClone(EXAMPLE));
  }
  return html`
    <div class="bench">
      <form class="sheet" onSubmit=${submit} novalidate>
        <${MetricPicker} metrics=${metrics} chosen=${chosen} onChange=${setChosen} />
        <${JudgeSelect} judges=${judges} value=${judge} onChange=${setJudge} />
        <div class="case-head"><h2>Case</h2><button type="button" class="quiet" onClick=${fillExample}>Fill in an example</button></div>
        <${CaseForm} metrics=${chosen.map((name) => metrics.get(name))} handle=${form} />
        <div class="actions sticky"><button class="primary">${answer.began ? "Stop" : "Judge"}</button></div>
      </form>
      <${Answer} ...${answer} />
    </div>`;
}

/** What the server answered, or what became of the request. */
function Answer(answer) {
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

function AnswerContent({ error, retry, stopped, results, unread, notice, given, metrics }) {
  if (error) return html`<${Problem} error=${error} retry=${retry} />`;
  if (stopped) return html`<${Notice}>Stopped. Nothing more is asked.<//>`;
  if (!results) {
    return html`<${EmptyState} title="Verdicts appear here.">Choose metrics, fill in what they need, and press Judge.<//>`;
  }
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
  const items = { chunks: numberItems("c", chunks), triples: numberItems("t", given.triples) };
  const needed = fieldsFor(metrics);
  const tags = Object.entries(given.tags ?? {}).filter(([name]) => needed.includes(`tags.${name}`));
  const whole = { ...given, ...items };
  return {
    ...Object.fromEntries(SHOWN.filter((name) => needed.includes(name)).map((name) => [name, whole[name]])),
    tags: Object.fromEntries(tags),
  };
}

const numberItems = (letter, items) => items?.map((item, place) => ({ id: `${letter}${place + 1}`, ...readRow(item) }));
