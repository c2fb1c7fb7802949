/** A metric in full: description, scale with every value described, steps, needs, notes, its file. */

import { get, name as part } from "../api.js";
import { announce, data, fill, h, text } from "../dom.js";
import { figure } from "../format.js";
import { badge, metricBadges } from "../parts/badge.js";
import { copyButton } from "../parts/field.js";
import { problemBox } from "../parts/problem.js";
import { kindOf, told, toneClass } from "../parts/scale.js";
import { at } from "../router.js";

let newest = null;

/** Show a metric in a place; the last one asked for stays. */
export async function metricSheet(place, name, signal) {
  newest = name;
  try {
    const metric = await get(`/v1/metrics/${part(name)}`, {}, signal);
    if (newest !== name) return;
    fill(place, sheet(metric));
    announce(`${metric.name}: ${metric.description}`);
  } catch (error) {
    if (signal.aborted) return;
    if (newest === name) fill(place, back(), problemBox(error));
  }
}

const back = () => h("p", { class: "crumbs only-narrow" }, h("a", { href: "#/library" }, "← All metrics"));

function sheet(metric) {
  return [
    back(),
    h("article", { class: "sheet metric", "aria-label": metric.name },
      h("header", { class: "head" },
        h("div", null,
          h("h2", { class: "metric-name mono", dir: "auto", tabindex: "-1" }, metric.name),
          h("p", { class: "badges" }, metricBadges(metric))),
        h("a", { class: "button", href: at("playground", { metric: metric.name }) }, "Try it")),
      h("p", { class: "lead" }, text(metric.description)),
      section("Needs", h("p", { class: "badges" }, metric.needs.map((need) => badge(need.replaceAll("_", " "))))),
      section("Scale", scaleTable(metric.scale)),
      metric.steps?.length ? section("Steps", steps(metric.steps)) : null,
      metric.instructions ? section("Rules", h("p", null, text(metric.instructions))) : null,
      Object.keys(metric.notes ?? {}).length ? section("Also told", notes(metric.notes)) : null,
      Object.keys(metric.uses ?? {}).length ? section("Builds on", uses(metric.uses)) : null,
      metric.judge ? section("Judge", h("p", { class: "mono" }, text(metric.judge.model ?? metric.judge))) : null,
      metric.yaml ? file(metric.yaml) : null),
  ];
}

const steps = (given) => h("ol", { class: "steps" }, given.map((step) => h("li", null, text(step))));

const section = (title, ...content) => h("section", { class: "stack-small" }, h("h3", null, title), content);

function scaleTable(scale) {
  const rows = kindOf(scale) === "categories"
    ? Object.entries(scale.categories).map(([value, { means, score }]) => scaleRow(scale, value, means, score))
    : kindOf(scale) === "range"
      ? Object.entries(scale.levels).map(([value, means]) => scaleRow(scale, value, means))
      : [];
  return [
    h("p", { class: "soft small" }, told(scale)),
    rows.length ? h("dl", { class: "scale" }, rows) : null,
  ];
}

function scaleRow(scale, value, means, score = null) {
  return h("div", { class: `scale-row ${toneClass(scale, value)}` },
    h("dt", null, data(value), typeof score === "number" ? h("span", { class: "soft small" }, ` counts ${figure(score)}`) : null),
    h("dd", null, text(means || "–")));
}

function notes(given) {
  return h("dl", { class: "facts" }, Object.entries(given).map(([name, note]) => [
    h("dt", null, name.replaceAll("_", " ")),
    h("dd", null, noteTold(note)),
  ]));
}

function noteTold(note) {
  if (note.share) return shareTold(note);
  const fields = Object.entries(note.each ?? {}).map(([field, content]) => `${field}: ${[content].flat().join(", ")}`);
  return [
    text(typeof note === "string" ? note : note.means),
    fields.length ? h("ul", { class: "small soft" }, fields.map((field) => h("li", { dir: "auto" }, field))) : null,
  ];
}

function shareTold({ share, where, among }) {
  const of = Object.keys(among ?? {}).length ? `, among ${conditions(among)}` : "";
  return `a share counted in ${share.replaceAll("_", " ")}: ${conditions(where)}${of}`;
}

const conditions = (fields) =>
  Object.entries(fields).map(([field, words]) => `${field} is ${[words].flat().join(" or ")}`).join(" and ");

function uses(given) {
  return h("ul", null, Object.entries(given).map(([field, use]) => {
    const values = use.as ?? use.values ?? [];
    const link = h("a", { class: "mono", href: at(["library", use.judged_by]) }, use.judged_by);
    return h("li", null, `only ${field} that `, link, ` judged ${values.join(" or ")}`);
  }));
}

function file(yaml) {
  return h("details", { class: "file" }, h("summary", null, "Metric file"),
    h("div", { class: "file-content" }, copyButton(yaml), h("pre", { class: "block", tabindex: "0", dir: "auto" }, yaml)));
}
