/** The runs: newest first, those at work with live progress. */

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { counted, date } from "../format.js";
import { runBadge } from "../parts/badge.js";
import { empty, problemBox } from "../parts/problem.js";
import { progressBar } from "../parts/progress.js";
import { runActions } from "../parts/run_actions.js";
import { at } from "../router.js";
import { follow } from "../stream.js";

const PAGE = 50;
const MOST_STREAMS = 3; // a browser opens few connections to one server, and other requests need some
const AGAIN_MS = 4000;
const WAITS = "It starts when the runs before it are done.";

/** Show the list; it keeps itself up to date. */
export async function runsView({ root, signal }) {
  const page = new RunsPage(root, signal);
  await page.load();
  const timer = setInterval(() => document.hidden || page.again(), AGAIN_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

class RunsPage {
  #list = h("ul", { class: "runs" });
  #told = h("div");
  #more = h("button", { type: "button", hidden: true, onclick: () => this.#older() }, "Older runs");
  #rows = new Map();
  #streams = new Set();
  #next = null;
  #paged = false;

  constructor(root, signal) {
    this.signal = signal;
    fill(root, h("div", { class: "head" }, h("div", null, h("h1", null, "Runs")),
      h("a", { class: "button primary", href: "#/new-run" }, "Start a run")), this.#told, this.#list, this.#more);
  }

  /** Read the newest runs; older ones that are shown stay. */
  async load() {
    const found = await get("/v1/runs", { limit: PAGE }, this.signal);
    const newest = found.runs.map((run) => this.#put(run));
    const kept = [...this.#list.children].filter((element) => !newest.includes(element) && older(element, found));
    arrange(this.#list, [...newest, ...kept]);
    if (!this.#paged) this.#turn(found.next);
    fill(this.#told, found.runs.length ? null : nothingYet());
  }

  /** Read them again, and tell where that fails. */
  async again() {
    try {
      await this.load();
    } catch (error) {
      if (!this.signal.aborted) fill(this.#told, problemBox(error));
    }
  }

  async #older() {
    this.#paged = true;
    const found = await get("/v1/runs", { limit: PAGE, cursor: this.#next }, this.signal);
    this.#list.append(...found.runs.map((run) => this.#put(run)));
    this.#turn(found.next);
  }

  #turn(next) {
    this.#next = next;
    this.#more.hidden = !next;
  }

  #put(run) {
    const row = this.#rows.get(run.id) ?? new RunRow(() => this.again());
    this.#rows.set(run.id, row);
    row.put(run);
    if (run.status === "running") this.#watch(run.id, row);
    return row.element;
  }

  async #watch(id, row) {
    if (this.#streams.has(id) || this.#streams.size >= MOST_STREAMS) return;
    this.#streams.add(id);
    try {
      const end = await follow(id, (progress) => row.step(progress), this.signal);
      if (end) row.put(end);
    } catch {
      // the list is read again anyway
    } finally {
      this.#streams.delete(id);
    }
  }
}

/** A run in the list. */
class RunRow {
  #bar = progressBar("Progress");
  #head = h("div", { class: "run-name" });
  #facts = h("p", { class: "small soft" });
  #why = h("p", { class: "small", dir: "auto" });
  #actions = h("div", { class: "actions" });
  #shown = "";
  element = h("li", { class: "sheet run" },
    h("div", { class: "run-top" }, h("div", { class: "stack-small" }, this.#head, this.#facts), this.#actions),
    this.#why, this.#bar.element);

  constructor(gone) {
    this.gone = gone;
  }

  /** Show how the run stands; buttons stay where they fit still, so that none loses the focus. */
  put(run) {
    Object.assign(this.element.dataset, { id: run.id, created: run.created });
    const shown = JSON.stringify([run.status, run.resumable, Boolean(run.progress?.failed)]);
    if (this.#shown !== shown) {
      const link = h("a", { class: "run-link", href: at(["runs", run.id]), dir: "auto" }, run.name || run.id);
      fill(this.#head, link, runBadge(run.status));
      fill(this.#actions, runActions(run, { changed: (after) => this.put(after), gone: this.gone }));
    }
    this.#shown = shown;
    fill(this.#facts, [counted(run.metrics.length, "metric"), run.judge, date(run.created)].filter(Boolean).join(" · "));
    const why = run.why ?? (run.status === "queued" ? WAITS : null);
    fill(this.#why, why);
    this.#why.hidden = !why;
    this.#bar.put(run.progress, { live: run.status === "running" });
  }

  step(progress) {
    this.#bar.put(progress, { live: true });
  }
}

/** Say whether a row is older than the newest runs, and so no reason to take it away. */
const older = (element, { runs, next }) => Boolean(next) && element.dataset.created < runs.at(-1).created;

/** Bring rows into an order; those that stay are not moved, so that the focus keeps its place. */
function arrange(list, elements) {
  for (const child of [...list.children]) if (!elements.includes(child)) child.remove();
  elements.forEach((element, place) => {
    if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
  });
}

const nothingYet = () => empty("No run yet.", "Upload cases and judge them: ", h("a", { href: "#/new-run" }, "start a run"),
  ". Runs that the command line makes in the server's folder appear here too.");
