/** Start of the page. */

import { Problem } from "./api.js";
import { startForget, takeToken } from "./key.js";
import { problemBox } from "./parts/problem.js";
import { start } from "./router.js";
import { startShortcuts } from "./shortcuts.js";
import { startTheme } from "./theme.js";
import { caseView } from "./views/case.js";
import { compareView } from "./views/compare.js";
import { libraryView } from "./views/library.js";
import { missingView } from "./views/missing.js";
import { newRunView } from "./views/new_run.js";
import { playgroundView } from "./views/playground.js";
import { runView } from "./views/run.js";
import { runsView } from "./views/runs.js";

takeToken();
addEventListener("hashchange", (event) => {
  if (!takeToken()) return;
  event.stopImmediatePropagation(); // the views are built anew, with the new token
  location.reload();
});
startTheme(document.getElementById("theme"));
startForget();
startShortcuts();
addEventListener("unhandledrejection", (event) => {
  const aborted = event.reason?.name === "AbortError"; // somebody went elsewhere, and nobody waits for it
  if (!aborted && !(event.reason instanceof Problem)) return;
  event.preventDefault();
  if (!aborted) document.querySelector("main .view")?.prepend(problemBox(event.reason));
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after # names the view
  document.getElementById("main").focus();
});
start(document.getElementById("main"), [
  [[], libraryView],
  [["library"], libraryView],
  [["library", "NAME"], libraryView],
  [["playground"], playgroundView],
  [["runs"], runsView],
  [["new-run"], newRunView],
  [["runs", "ID"], runView],
  [["runs", "ID", "case"], caseView],
  [["compare"], compareView],
  [["missing"], missingView],
]);
