/** The walk of a case as the server draws it, with the texts that its nodes and edges have when they are pointed at. */

import { useEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { getDocument, name as part } from "../api.js";
import { html } from "../html.js";
import { Problem } from "./notices.js";

const NOTHING_TO_DRAW = 404;

/** The drawing; nothing if the case has no walk. */
export function WalkPicture({ run, id, method }) {
  const place = useRef(null);
  const [state, setState] = useState({ shown: false, error: null });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    getDocument(`/v1/runs/${part(run)}/walk.svg`, { sample_id: id, method }, signal).then(
      (drawing) => {
        place.current.replaceChildren(document.importNode(drawing.documentElement, true));
        setState({ shown: true, error: null });
      },
      (error) => signal.aborted || setState({ shown: false, error: error.status === NOTHING_TO_DRAW ? null : error }),
    );
    return () => controller.abort();
  }, [run, id, method]);
  return html`
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="walk-picture" ref=${place} hidden=${!state.shown} tabindex="0" role="region" aria-label="Picture of the walk" />`;
}
