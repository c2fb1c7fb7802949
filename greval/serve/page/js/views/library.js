/** The library: all metrics to search and filter, and one of them in full. */

import { useLayoutEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { allMetrics } from "../catalogue.js";
import { MetricBadges } from "../components/badge.js";
import { SearchField, SegmentedControl } from "../components/fields.js";
import { matchesMetric } from "../components/metric_picker.js";
import { EmptyState, Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { counted } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";
import { MetricView } from "./metric.js";

const KINDS = [[null, "All"], ["judged", "Judged"], ["computed", "Computed"]];
const ITEMS = [[null, "Any"], ["case", "Whole case"], ["chunks", "Chunks"], ["triples", "Triples"], ["claims", "Claims"]];
const FILTERS = ["q", "kind", "over"];
const NARROW = matchMedia("(max-width: 64rem)"); // as in views.css

/** The list of metrics, and beside it the metric that the address names. */
export function LibraryView({ params: { name = null }, query }) {
  const [filters, setFilters] = useState(() => Object.fromEntries(FILTERS.map((filter) => [filter, query.get(filter)])));
  const { data: metrics, error, reload } = useRequest(() => allMetrics({ fresh: true }), []);
  const grid = useRef(null);
  const focusMetric = useNarrowFocus(grid, name);
  function change(difference) {
    const changed = { ...filters, ...difference };
    setFilters(changed);
    go(at(["library", name].filter(Boolean), changed), { replace: true });
  }
  return html`
    <${ViewHead} title="Metric library" lead="What can be judged, and what each value means."
      actions=${html`<a class="button primary" href="#/metrics/new">Write a metric</a>`} />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    <div class=${name ? "library has-detail" : "library"} ref=${grid}>
      <section class="library-list" aria-label="Metrics">
        <div class="filters">
          <${SearchField} label="Search metrics" value=${filters.q ?? ""} onInput=${(q) => change({ q: q || null })} />
          <${SegmentedControl} label="Kind" options=${KINDS} value=${filters.kind} onChange=${(kind) => change({ kind })} />
          <${SegmentedControl} label="Judges" options=${ITEMS} value=${filters.over} onChange=${(over) => change({ over })} />
        </div>
        <${MetricList} metrics=${metrics ?? new Map()} filters=${filters} current=${name} />
      </section>
      <div class="detail">
        ${name
          ? html`<${MetricView} name=${name} onShown=${focusMetric} />`
          : html`<${EmptyState} title="Choose a metric to see how it judges.">Its steps, its scale with every value described, and its file.<//>`}
      </div>
    </div>`;
}

/**
 * Focus what is shown after a change of the metric: in a narrow window, either the metric or the list.
 * @returns {Function} focuses the heading of a metric once it is shown
 */
function useNarrowFocus(grid, name) {
  const last = useRef(name);
  const changed = useRef(false);
  useLayoutEffect(() => {
    changed.current = last.current !== name;
    if (changed.current && NARROW.matches) {
      scrollTo(0, 0);
      if (!name) grid.current.querySelector(`a[data-name="${CSS.escape(last.current)}"]`)?.focus();
    }
    last.current = name;
  }, [name]);
  return (heading) => changed.current && NARROW.matches && heading.focus();
}

function MetricList({ metrics, filters, current }) {
  const found = [...metrics.values()].filter((metric) => fitsFilters(metric, filters));
  const all = counted(metrics.size, "metric");
  const counts = found.length === metrics.size ? all : `${found.length} of ${all}`;
  return html`
    <p class="soft small" role="status">${metrics.size ? counts : "\u00a0"}</p>
    <ul class="metric-list">
      ${found.map((metric) => html`<${MetricEntry} key=${metric.name} metric=${metric} current=${metric.name === current} filters=${filters} />`)}
      ${metrics.size > 0 && !found.length && html`<li><${EmptyState} title="No metric fits.">Use fewer words, or other filters.<//></li>`}
    </ul>`;
}

const fitsFilters = (metric, { q, kind, over }) =>
  matchesMetric(metric, q ?? "") && (!kind || metric.kind === kind) && (!over || (metric.over ?? "case") === over);

const MetricEntry = ({ metric, current, filters }) => html`
  <li>
    <a href=${at(["library", metric.name], filters)} data-name=${metric.name} aria-current=${current ? "true" : null}>
      <span class="entry-name">
        <span class="mono" dir="auto">${metric.name}</span>
        <span class="picker-badges"><${MetricBadges} metric=${metric} /></span>
      </span>
      <span class="entry-text" dir="auto">${metric.description}</span>
    </a>
  </li>`;
