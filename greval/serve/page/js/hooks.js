/** Hooks that several views share: requests with their state, and the mark of a page that is loading. */

import { useLayoutEffect, useState } from "../vendor/preact_hooks.js";

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
