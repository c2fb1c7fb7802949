/** Rows of a long table: only those in sight are drawn. */

import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "../vendor/virtual.js";
import { useLayoutEffect, useState } from "../vendor/preact_hooks.js";

const OVERSCAN = 12;

/**
 * Return {items, before, after, scrollTo}: the rows to draw, the heights above and below them, and a function that
 * brings a row into sight.
 * @param {Object} place a ref of the element that scrolls
 * @param {number} count of rows
 * @param {number} height of each row in pixels
 * @param {number} head height of a head that covers the first rows of what is in sight
 */
export function useVirtualRows(place, count, height, head) {
  const [, redraw] = useState(0);
  const options = {
    count,
    getScrollElement: () => place.current,
    estimateSize: () => height,
    overscan: OVERSCAN,
    scrollPaddingEnd: head,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw((number) => number + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  const items = virtualizer.getVirtualItems();
  return {
    items: items.map(({ index }) => index),
    before: items[0]?.start ?? 0,
    after: items.length ? virtualizer.getTotalSize() - items.at(-1).end : 0,
    scrollTo: (index) => virtualizer.scrollToIndex(index, { align: "auto" }),
  };
}
