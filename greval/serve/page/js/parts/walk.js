/** The walk through the graph: where it began, the edges it took, where it ended; beside it what was expected. */

import { h } from "../dom.js";

const MARK = { hit: "expected", miss: "expected, not walked", extra: "not expected" };

/** Give the walk of a case; null where it has none. Names are compared as they are, and by the gold's aliases. */
export function walk({ traversal, gold }) {
  if (!traversal) return null;
  const one = namer(gold?.aliases);
  return h("div", { class: "walk" },
    step("Start", nodes(traversal.start_nodes, gold?.start_nodes, one)),
    step("Edges, in order", edges(traversal.traversed_edges ?? [], gold?.expected_edges, one)),
    step("End", nodes(traversal.final_nodes, gold?.expected_nodes, one)));
}

/** Give a function that names a node as the gold does. */
function namer(aliases) {
  const known = new Map(Object.entries(aliases ?? {}).flatMap(([name, others]) => others.map((other) => [other, name])));
  return (name) => known.get(name) ?? name;
}

const step = (name, ...content) =>
  h("section", { class: "walk-step", "aria-label": name }, h("h4", null, name), content);

function edges(walked, expected, one) {
  const key = ([source, label, target]) => JSON.stringify([one(source), label, one(target)]);
  const there = marks(walked, expected, key);
  if (!there.length) return h("span", { class: "soft" }, "none");
  return h("ol", { class: "edges" }, there.map(([[source, label, target], mark]) =>
    h("li", { class: `edge ${mark}` },
      node(source), h("span", { class: "edge-label", dir: "auto" }, label), node(target),
      mark ? h("span", { class: "small edge-mark" }, MARK[mark]) : null)));
}

function nodes(walked, expected, one) {
  const there = marks(walked ?? [], expected, one);
  if (!there.length) return h("span", { class: "soft" }, "none");
  return h("p", { class: "nodes" }, there.map(([name, mark]) => node(name, mark)));
}

/** Give each thing that was walked or expected, with what it is of both; no mark where nothing was expected. */
function marks(walked, expected, key) {
  if (!expected) return walked.map((thing) => [thing, ""]);
  const [had, due] = [new Set(walked.map(key)), new Set(expected.map(key))];
  return [
    ...walked.map((thing) => [thing, due.has(key(thing)) ? "hit" : "extra"]),
    ...expected.filter((thing) => !had.has(key(thing))).map((thing) => [thing, "miss"]),
  ];
}

const node = (name, mark = "") =>
  h("span", { class: `node ${mark}`, title: MARK[mark] ?? null }, h("span", { dir: "auto" }, name),
    mark ? h("span", { class: "unseen" }, ` (${MARK[mark]})`) : null);
