/** Keys that work everywhere: `/` goes to the search field, Escape empties and leaves it. */

const WRITING = "input:not([type=checkbox]):not([type=radio]), textarea, select";

/** Listen for the keys. */
export function startShortcuts() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target instanceof Element && event.target.matches(WRITING);
    if (event.key === "/" && !writing && !document.querySelector("dialog[open]")) {
      const search = document.querySelector("main input[type=search]");
      if (!search) return;
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "Escape" && writing && event.target.type === "search") {
      event.target.value = "";
      event.target.dispatchEvent(new Event("input", { bubbles: true }));
      event.target.blur();
    }
  });
}
