/** Views that are not components yet. */

import { useLayoutEffect, useRef, useState } from "../vendor/preact_hooks.js";
import { Problem } from "./components/notices.js";
import { useBusy } from "./hooks.js";
import { html } from "./html.js";

/** Return a component that shows a view which fills an element. */
export const adaptView = (view) => function AdaptedView({ params, query }) {
  const place = useRef(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(true);
  useBusy(busy);
  useLayoutEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    view({ root: place.current, params, query, signal })
      .catch((problem) => signal.aborted || setError(problem))
      .finally(() => signal.aborted || setBusy(false));
    return () => controller.abort();
  }, []);
  return html`<div class="view" ref=${place} />${error && html`<${Problem} error=${error} />`}`;
};
