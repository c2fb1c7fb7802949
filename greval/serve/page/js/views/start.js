/** The first view: where one writes a metric if one has none yet, else the library. */

import { useLayoutEffect } from "../../vendor/preact_hooks.js";
import { allMetrics } from "../catalogue.js";
import { Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";

/** Goes to the editor or to the library, without a step in the history. */
export function StartView() {
  const { data: metrics, error, reload } = useRequest(() => allMetrics(), []);
  useLayoutEffect(() => {
    if (metrics) location.replace([...metrics.values()].some(({ origin }) => origin === "own") ? "#/library" : "#/metrics/new");
  }, [metrics]);
  return html`
    <${ViewHead} title="Metrics" />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}`;
}
