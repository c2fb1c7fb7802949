/** The library: all metrics to search and filter, and one of them in full. */

import { fill, h } from "../dom.js";
import { counted } from "../format.js";
import { metricBadges } from "../parts/badge.js";
import { allMetrics } from "../parts/catalogue.js";
import { search, segments } from "../parts/field.js";
import { matches } from "../parts/matching.js";
import { empty } from "../parts/problem.js";
import { at, go } from "../router.js";
import { metricSheet } from "./metric.js";

const KINDS = [["", "All"], ["judged", "Judged"], ["computed", "Computed"]];
const OVER = [["", "Any"], ["case", "Whole case"], ["chunks", "Chunks"], ["triples", "Triples"]];

const NARROW = matchMedia("(max-width: 64rem)"); // as in views.css
const WHAT = "Its steps, its scale with every value described, and its file.";

/** Show the list, and beside it the metric that the address names. */
export async function libraryView({ root, params, query, signal }) {
  const page = new LibraryPage(root, query, signal);
  await page.start(params.name);
  return (next) => {
    page.turn(next.params.name);
    return true;
  };
}

class LibraryPage {
  #metrics = new Map();
  #shown = null;
  #list = h("ul", { class: "metric-list" });
  #told = h("p", { class: "soft small", role: "status" }, "\u00a0");
  #detail = h("div", { class: "detail" });
  #grid = h("div", { class: "library" });

  constructor(root, query, signal) {
    this.signal = signal;
    this.wanted = { q: query.get("q") ?? "", kind: query.get("kind") ?? "", over: query.get("over") ?? "" };
    fill(this.#grid,
      h("section", { class: "library-list", "aria-label": "Metrics" }, this.#filters(), this.#told, this.#list),
      this.#detail);
    fill(root,
      h("div", { class: "head" }, h("div", null, h("h1", null, "Metric library"),
        h("p", { class: "soft" }, "What can be judged, and what each value means."))),
      this.#grid);
  }

  async start(name) {
    this.#shown = name ?? null;
    this.#grid.classList.toggle("has-detail", Boolean(name));
    this.#metrics = await allMetrics({ fresh: true });
    this.#showList();
    await this.show(name);
  }

  /** Go to a metric, or back to the list; in a narrow window only one of both is there, and gets the focus. */
  async turn(name) {
    const before = this.#shown;
    await this.show(name);
    if (!NARROW.matches) return;
    scrollTo(0, 0);
    const link = [...this.#list.querySelectorAll("a")].find(({ dataset }) => dataset.name === before);
    (name ? this.#detail.querySelector("h2") : link)?.focus();
  }

  /** Show a metric, or where none is named what can be done here. */
  async show(name) {
    this.#shown = name ?? null;
    this.#grid.classList.toggle("has-detail", Boolean(name));
    for (const link of this.#list.querySelectorAll("a")) {
      if (link.dataset.name === name) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (name) await metricSheet(this.#detail, name, this.signal);
    else fill(this.#detail, empty("Choose a metric to see how it judges.", WHAT));
  }

  #filters() {
    return h("div", { class: "filters" },
      search("Search metrics", this.wanted.q, (q) => this.#narrow({ q })),
      segments("Kind", KINDS, this.wanted.kind, (kind) => this.#narrow({ kind })),
      segments("Judges", OVER, this.wanted.over, (over) => this.#narrow({ over })));
  }

  #narrow(change) {
    Object.assign(this.wanted, change);
    go(at(["library", this.#shown].filter(Boolean), this.wanted), { replace: true });
    this.#showList();
  }

  #showList() {
    const all = this.#metrics.size;
    if (!all) return; // they are still on their way
    const found = [...this.#metrics.values()].filter((metric) => fits(metric, this.wanted));
    this.#told.textContent = found.length === all ? counted(all, "metric") : `${found.length} of ${counted(all, "metric")}`;
    fill(this.#list, found.map((metric) => entry(metric, metric.name === this.#shown, this.wanted)),
      found.length ? null : h("li", null, empty("No metric fits.", "Use fewer words, or other filters.")));
  }
}

const fits = (metric, { q, kind, over }) =>
  matches(metric, q) && (!kind || metric.kind === kind) && (!over || (metric.over ?? "case") === over);

const entry = (metric, current, wanted) =>
  h("li", null, h("a", {
    href: at(["library", metric.name], wanted), "data-name": metric.name, "aria-current": current ? "true" : null,
  },
    h("span", { class: "entry-name" },
      h("span", { class: "mono", dir: "auto" }, metric.name),
      h("span", { class: "picker-badges" }, metricBadges(metric))),
    h("span", { class: "entry-text", dir: "auto" }, metric.description)));
