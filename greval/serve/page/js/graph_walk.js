/** A graph walk compared with the expected walk, by the same rules as the traversal metrics. */

/** Return the normalised form of a name: Unicode NFKC, without case, underscores as spaces. */
const normaliseName = (name) =>
  name.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC").replaceAll("_", " ").split(/\s+/).filter(Boolean).join(" ");

/** Return a function that normalises the name of a node, with aliases resolved. */
function createNormaliser(aliases) {
  const names = new Map();
  for (const [name, others] of Object.entries(aliases ?? {})) {
    for (const other of others) names.set(normaliseName(other), normaliseName(name));
  }
  for (const name of Object.keys(aliases ?? {})) names.set(normaliseName(name), normaliseName(name));
  return (name) => names.get(normaliseName(name)) ?? normaliseName(name);
}

/**
 * Compare a walk with the gold. Each node and edge gets a mark: hit, miss, extra, or "" if nothing was expected.
 * An expected node is a hit if it is anywhere on the walk: a start, an end of an edge, or a final node.
 * @returns {{starts, edges, finals, expected}} lists of [node or edge, mark]; `expected` is null without expected nodes
 */
export function compareWalk({ traversal, gold }) {
  const { start_nodes: starts = [], traversed_edges: edges = [], final_nodes: finals = [] } = traversal;
  const { start_nodes: expectedStarts, expected_edges: expectedEdges, expected_nodes: expectedNodes, aliases } = gold ?? {};
  const normalise = createNormaliser(aliases);
  const visited = new Set([...starts, ...edges.flatMap(([source, , target]) => [source, target]), ...finals].map(normalise));
  const edgeKey = createEdgeKey([...edges, ...(expectedEdges ?? [])], normalise);
  return {
    starts: [...markWalked(starts, expectedStarts, normalise), ...markMissing(starts, expectedStarts, normalise)],
    edges: [...markWalked(edges, expectedEdges, edgeKey), ...markMissing(edges, expectedEdges, edgeKey)],
    finals: markWalked(finals, expectedNodes, normalise),
    expected: expectedNodes?.map((name) => [name, visited.has(normalise(name)) ? "hit" : "miss"]) ?? null,
  };
}

/** Return a function that gives the key of an edge; an edge without a label matches any label between its ends. */
function createEdgeKey(edges, normalise) {
  const ends = ([source, , target]) => [normalise(source), normalise(target)];
  const unlabelled = new Set(edges.filter(([, label]) => !label).map((edge) => JSON.stringify(ends(edge).toSorted())));
  return (edge) => {
    const bare = unlabelled.has(JSON.stringify(ends(edge).toSorted()));
    return JSON.stringify([...ends(edge), bare ? "" : normaliseName(edge[1])]);
  };
}

function markWalked(walked, expected, key) {
  const due = expected && new Set(expected.map(key));
  return walked.map((one) => [one, due ? (due.has(key(one)) ? "hit" : "extra") : ""]);
}

function markMissing(walked, expected, key) {
  const had = new Set(walked.map(key));
  return (expected ?? []).filter((one) => !had.has(key(one))).map((one) => [one, "miss"]);
}
