/** The filters of the cases of a run, what they are compared with, and how many fit. */

import { findTag, listTags, listValues, pairColumns } from "../case_grid.js";
import { html } from "../html.js";
import { Field, SearchField, Select, nameOptions, withCurrent } from "./fields.js";

const STATUSES = ["scored", "skipped", "failed"];
const CHANGES = [[null, "all"], ["changed", "different"], ["lost", "worse"], ["won", "better"]];

/**
 * The filters.
 * @param {Object} grid of the run
 * @param {Array} columns that are shown
 * @param {Object} filters what is chosen
 * @param {Array} others {value, label} of what the cases can be compared with
 * @param {Function} onChange called with what changes
 */
export function CaseFilters({ grid, columns, filters, others, onChange }) {
  const values = listValues(columns);
  const tag = findTag(grid.tags, filters.tag);
  const select = (label, name, names, also = {}) => html`
    <${Field} label=${label}>
      <${Select} options=${withCurrent(nameOptions("all", names), filters[name])} value=${filters[name]} onChange=${(value) => onChange({ [name]: value, ...also })} />
    <//>`;
  return html`
    <div class="filters-row cases-filters">
      <div class="wide-field"><${SearchField} label="Search questions, answers and reasons" value=${filters.q ?? ""} onInput=${(q) => onChange({ q: q || null })} /></div>
      ${select("Metric", "metric", grid.metrics.map(({ name }) => name), { value: null })}
      ${grid.methods.length > 1 && select("Method", "method", grid.methods)}
      ${select("Status", "status", STATUSES)}
      ${(values || filters.value) && select("Value", "value", values ?? [])}
      ${grid.tags.length > 0 && html`
        <${Field} label="Tag"><${Select} ...${chooseTag(grid, filters.tag, tag)} onChange=${(chosen) => onChange({ tag: chosen })} /><//>`}
      ${isLong(tag) && html`
        <${Field} label=${tag.name}>
          <${Select} options=${[[`${tag.name}:`, "choose…"], ...tag.values.map((value) => [`${tag.name}:${value}`, value])]} value=${filters.tag}
            onChange=${(chosen) => onChange({ tag: chosen })} />
        <//>`}
      ${others.length > 0 && html`
        <${Field} label="Beside">
          <${Select} options=${withCurrent([[null, "nothing"], ...others], filters.beside)} value=${filters.beside}
            onChange=${(beside) => onChange({ beside, change: null })} />
        <//>`}
      ${filters.beside && html`
        <${Field} label="Difference">
          <${Select} options=${CHANGES} value=${filters.change} onChange=${(change) => onChange({ change })} />
        <//>
        <${Field} label="Order">
          <${Select} options=${listOrders(columns)} value=${readOrder(filters)} onChange=${(order) => onChange(writeOrder(order))} />
        <//>`}
    </div>`;
}

const isLong = (tag) => tag && listTags({ tags: [tag] })[0]?.[0] === `${tag.name}:`;

/** Return the options of the filter by a tag, and its value; of a tag with many values, the value is chosen after it. */
function chooseTag(grid, wanted, tag) {
  const options = [[null, "all"], ...listTags(grid)];
  const value = isLong(tag) ? `${tag.name}:` : wanted;
  return { options: withCurrent(options, value), value };
}

/** Return the orders by a difference, for each metric of both sides. */
const listOrders = (columns) => [[null, "as the columns say"], ...pairColumns(columns).flatMap(([{ metric }]) =>
  [[`loss:${metric}`, `${metric}: largest loss first`], [`gain:${metric}`, `${metric}: largest gain first`]])];

const readOrder = ({ order, sort }) => (order === "loss" || order === "gain" ? `${order}:${sort}` : null);

const writeOrder = (order) => (order === null
  ? { order: null, sort: null, of: null, side: null }
  : { order: order.slice(0, 4), sort: order.slice(5), of: null, side: null });
