/** Grouping of lists. */

/** Return the things by their key, in the order in which the keys come first. */
export function groupBy(things, key) {
  const found = new Map();
  for (const thing of things) found.set(key(thing), [...(found.get(key(thing)) ?? []), thing]);
  return found;
}
