/** The two responses of a pair: their names, and the fields of the other one by name. */

export const OTHER = "other_response.";

/** Return the names of the methods of both responses of a case, A and B without one; null if it is no pair. */
export function namesOfPair({ method = "", other_response: other }) {
  if (!other) return null;
  const end = ` vs ${other.method ?? ""}`;
  return [(method.endsWith(end) ? method.slice(0, -end.length) : method) || "A", other.method || "B"];
}

/** Return the winner of a verdict on a pair by its place, 0 or 1; null for a tie. */
export function winnerOf(value) {
  if (typeof value === "number") return value > 0 ? 0 : value < 0 ? 1 : null;
  return { A: 0, B: 1 }[value] ?? null;
}

/** Return a case in which each field of the other response has a name of its own, such as `other_response.answer`. */
export function flattenPair({ other_response: other, ...own }) {
  return { ...own, ...Object.fromEntries(Object.entries(other ?? {}).map(([name, value]) => [OTHER + name, value])) };
}

/** Return the case that `flattenPair` flattened. */
export function unflattenPair(content) {
  const isOther = ([name]) => name.startsWith(OTHER);
  const other = Object.entries(content).filter(isOther).map(([name, value]) => [name.slice(OTHER.length), value]);
  const own = Object.entries(content).filter((entry) => !isOther(entry));
  return { ...Object.fromEntries(own), ...(other.length && { other_response: Object.fromEntries(other) }) };
}
