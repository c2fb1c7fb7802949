/** Hooks that several views share: requests with their state, and the mark of a page that is loading. */

import { useLayoutEffect, useRef, useState } from "../vendor/preact_hooks.js";

let loading = 0;

/** Mark the page as loading; returns a function that ends it. */
function markBusy() {
  const main = document.getElementById("main");
  loading += 1;
  main.setAttribute("aria-busy", "true");
  return () => {
    loading -= 1;
    if (!loading) main.removeAttribute("aria-busy");
  };
}

/** Mark the page as loading while `busy` is true. */
export function useBusy(busy) {
  useLayoutEffect(() => (busy ? markBusy() : undefined), [busy]);
}

/**
 * Request something whenever an input changes; a request that is no longer needed is aborted.
 * @param {Function} load takes an AbortSignal, returns a promise
 * @param {Array} inputs what the request depends on
 * @returns {{data, error, loading, reload}} the data of the last success stay while it is requested again
 */
export function useRequest(load, inputs) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const [attempt, setAttempt] = useState(0);
  useBusy(state.loading && state.data === null);
  useLayoutEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const finish = (change) => signal.aborted || setState((before) => ({ ...before, ...change, loading: false }));
    setState((before) => ({ ...before, loading: true }));
    load(signal).then((data) => finish({ data, error: null }), (error) => finish({ error }));
    return () => controller.abort();
  }, [...inputs, attempt]);
  return { ...state, reload: () => setAttempt((number) => number + 1) };
}

/**
 * Load a list page by page.
 * @param {Function} load takes a cursor (null for the first page) and an AbortSignal, returns a promise of {items, next}
 * @param {Array} inputs what the list depends on
 * @returns {{items, error, loadMore, reload, body}} `loadMore` is null at the end of the list; `body` is the ref of the
 *   element with the rows: the first link of each further page gets the focus
 */
export function usePages(load, inputs) {
  const first = useRequest((signal) => load(null, signal), inputs);
  const [further, setFurther] = useState({ of: null, items: [], next: null });
  const body = useRef(null);
  const focused = useRef(null);
  const known = further.of === first.data ? further : { items: [], next: first.data?.next };
  const items = first.data && [...first.data.items, ...known.items];
  useLayoutEffect(() => {
    if (focused.current === null) return;
    body.current?.children[focused.current]?.querySelector("a")?.focus();
    focused.current = null;
  }, [further]);
  async function loadMore() {
    const page = await load(known.next);
    focused.current = items.length;
    setFurther({ of: first.data, items: [...known.items, ...page.items], next: page.next });
  }
  return { items, error: first.error, loadMore: known.next ? loadMore : null, reload: first.reload, body };
}
