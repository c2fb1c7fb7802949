/** Start of the page. */

import { Problem } from "./api.js";
import { startForget } from "./key.js";
import { takeToken } from "./key_store.js";
import { startRouter } from "./router.js";
import { startShortcuts } from "./shortcuts.js";
import { startTheme } from "./theme.js";
import { CaseView } from "./views/case.js";
import { CompareView } from "./views/compare.js";
import { DatasetsView, DatasetView } from "./views/datasets.js";
import { HistoryView } from "./views/history.js";
import { ImportView } from "./views/import.js";
import { LabelView } from "./views/label.js";
import { LibraryView } from "./views/library.js";
import { MetricEditorView } from "./views/metric_editor.js";
import { MissingView } from "./views/missing.js";
import { NewRunView } from "./views/new_run.js";
import { PlaygroundView } from "./views/playground.js";
import { RunView } from "./views/run.js";
import { RunsView } from "./views/runs.js";
import { StartView } from "./views/start.js";

addEventListener("hashchange", (event) => {
  if (!takeToken()) return;
  event.stopImmediatePropagation(); // the views are built anew, with the new token
  location.reload();
});
startTheme(document.getElementById("theme"));
startForget();
startShortcuts();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after # names the view
  document.getElementById("main").focus();
});
const showProblem = startRouter(document.getElementById("main"), [
  [[], StartView],
  [["library"], LibraryView, () => "library"],
  [["library", "NAME"], LibraryView, () => "library"],
  [["metrics", "new"], MetricEditorView],
  [["metrics", "NAME", "edit"], MetricEditorView],
  [["playground"], PlaygroundView],
  [["data"], DatasetsView],
  [["data", "ID"], DatasetView, ({ id }) => `data ${id}`],
  [["runs"], RunsView],
  [["new-run"], NewRunView],
  [["import"], ImportView],
  [["runs", "ID"], RunView, ({ id }) => id],
  [["runs", "ID", "case"], CaseView],
  [["runs", "ID", "label"], LabelView],
  [["compare"], CompareView, () => "compare"],
  [["history"], HistoryView, () => "history"],
  [["missing"], MissingView],
]);
addEventListener("unhandledrejection", (event) => {
  const aborted = event.reason?.name === "AbortError"; // the reader went elsewhere, and nothing waits for the answer
  if (!aborted && !(event.reason instanceof Problem)) return;
  event.preventDefault();
  if (!aborted) showProblem(event.reason);
});
