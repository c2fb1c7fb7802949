/** A run: live progress, then its summary, results and cases. */

import { get, name as part } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { date } from "../format.js";
import { runBadge } from "../parts/badge.js";
import { empty, notice, problemBox } from "../parts/problem.js";
import { progressBar, toldShort } from "../parts/progress.js";
import { runActions } from "../parts/run_actions.js";
import { at, go } from "../router.js";
import { follow } from "../stream.js";
import { casesTab } from "./run_cases.js";
import { resultsTab } from "./run_results.js";
import { summaryTab } from "./run_summary.js";

const TABS = { summary: ["Summary", summaryTab], results: ["Results", resultsTab], cases: ["Cases", casesTab] };
const TELL_MS = 8000; // how often progress is read aloud
const FRESH_MS = 5000; // how often the figures of a running run are read again

/** Show a run. */
export async function runView({ root, params, query, signal }) {
  const page = new RunPage(root, params.id, query, signal);
  await page.start();
  return (next) => next.params.id === params.id && page.turn(next.query);
}

/** What is shown of one run, and how it follows the run. */
class RunPage {
  #bar = progressBar("Progress");
  #name = h("h1", { dir: "auto" });
  #facts = h("p", { class: "soft" }, "\u00a0");
  #status = h("span");
  #actions = h("div", { class: "actions" });
  #why = h("div");
  #tabs = h("nav", { class: "subtabs", "aria-label": "Parts of the run" });
  #place = h("div", { class: "stack" });
  #leaveTab = new AbortController();
  #run = null;
  #following = false;
  #told = 0;
  #refreshed = 0;

  constructor(root, id, query, signal) {
    Object.assign(this, { id, query, signal });
    signal.addEventListener("abort", () => this.#leaveTab.abort());
    this.#name.textContent = id;
    fill(root,
      h("div", { class: "head" },
        h("div", null, h("p", { class: "crumbs" }, h("a", { href: "#/runs" }, "Runs")), this.#name, this.#facts),
        h("div", { class: "actions" }, this.#status, this.#actions)),
      this.#why, this.#bar.element, this.#tabs, this.#place);
  }

  async start() {
    this.#put(await this.#asked());
    await this.#showTab();
    this.#watch();
  }

  /** Show what another address of the same run names. */
  turn(query) {
    this.query = query;
    const focused = this.#tabs.contains(document.activeElement);
    this.#showTab().then(() => focused && this.#tabs.querySelector("[aria-current]").focus());
    return true;
  }

  #asked() {
    return get(`/v1/runs/${part(this.id)}`, {}, this.signal);
  }

  #put(run) {
    if (this.#run && this.#run.status !== run.status) announce(`${run.name} is ${run.status}`);
    this.#run = run;
    this.#name.textContent = run.name || run.id;
    fill(this.#status, runBadge(run.status));
    fill(this.#facts, facts(run));
    fill(this.#actions, runActions(run, { changed: (after) => this.#changed(after), gone: () => go("#/runs") }));
    fill(this.#why, run.why ? notice(run.status === "failed" ? "bad" : "warn", h("p", { dir: "auto" }, run.why)) : null);
    this.#bar.put(run.progress, { live: run.status === "running" });
  }

  #changed(run) {
    this.#put(run);
    this.#watch();
  }

  /** Follow the run until it ends; one stream is enough. */
  async #watch() {
    if (this.#following || !active(this.#run)) return;
    this.#following = true;
    try {
      const end = await follow(this.id, (progress) => this.#step(progress), this.signal).finally(() => {
        this.#following = false;
      });
      this.#put(end ?? (await this.#asked()));
      await this.#showTab();
    } catch (error) {
      if (!this.signal.aborted) fill(this.#why, problemBox(error, { retry: () => this.#watch() }));
    }
  }

  #step(progress) {
    const begun = nothingIn(this.#run) && progress.done > 0;
    if (this.#run.status === "queued") this.#put({ ...this.#run, status: "running" });
    this.#run = { ...this.#run, progress };
    this.#bar.put(progress, { live: true });
    const now = performance.now();
    if (now - this.#told > TELL_MS) {
      this.#told = now;
      announce(toldShort(progress));
    }
    const reading = this.#place.contains(document.activeElement);
    if (begun || (now - this.#refreshed > FRESH_MS && this.#tab === "summary" && !reading)) {
      this.#refreshed = now;
      this.#showTab();
    }
  }

  get #tab() {
    const wanted = this.query.get("tab");
    return Object.hasOwn(TABS, wanted) ? wanted : "summary";
  }

  async #showTab() {
    this.#leaveTab.abort();
    this.#leaveTab = new AbortController();
    const { signal } = this.#leaveTab;
    fill(this.#tabs, Object.keys(TABS).map((name) => tabLink(this.id, name, name === this.#tab)),
      h("a", { href: at("compare", { run: this.id }) }, "Compare methods"));
    if (nothingIn(this.#run)) return fill(this.#place, nothingYet(this.#run));
    try {
      await TABS[this.#tab][1]({ place: this.#place, run: this.#run, query: this.query, signal });
    } catch (error) {
      if (!signal.aborted) fill(this.#place, problemBox(error, { retry: () => this.#showTab() }));
    }
    return null;
  }
}

const active = ({ status }) => status === "queued" || status === "running";

const facts = ({ judge, metrics, dataset, created }) =>
  [judge, metrics.join(", "), `data ${dataset ?? "not known here"}`, date(created)].filter(Boolean).join(" · ");

function tabLink(id, name, current) {
  const href = at(["runs", id], name === "summary" ? {} : { tab: name });
  return h("a", { href, "aria-current": current ? "page" : null }, TABS[name][0]);
}

const nothingIn = (run) => active(run) && !run.progress?.done;

const nothingYet = ({ status }) => (status === "queued"
  ? empty("Queued.", "It starts when the runs before it are done.")
  : empty("No judgement yet.", "They appear here as they are made."));
