/** An address that is no view. */

import { fill, h } from "../dom.js";
import { empty } from "../parts/problem.js";

/** Say so, with the way back. */
export async function missingView({ root }) {
  fill(root, h("div", { class: "head" }, h("h1", null, "Nothing is here")),
    empty("This address is no part of the page.", h("a", { href: "#/library" }, "Go to the library")));
}
