/** Light and dark: as the system says (the style sheets do that), until someone chooses. */

const ORDER = ["auto", "light", "dark"];

function chosen() {
  const kept = localStorage.getItem("greval-theme");
  return ORDER.includes(kept) ? kept : "auto";
}

function apply(button) {
  const theme = chosen();
  for (const name of ["light", "dark"]) document.documentElement.classList.toggle(name, theme === name);
  button.textContent = `Theme: ${theme}`;
}

/** Follow the choice, which the button turns on. */
export function startTheme(button) {
  button.addEventListener("click", () => {
    localStorage.setItem("greval-theme", ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length]);
    apply(button);
  });
  apply(button);
}
