/** Messages for people who do not see the screen. */

/** Have screen readers read a message. */
export function announce(message) {
  const live = document.getElementById("live");
  if (live.textContent !== message) live.textContent = message;
}
