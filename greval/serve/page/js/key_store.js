/** The API key or token of this tab, and the token of an address that the server printed. */

const NAME = "greval-key";
const TOKEN = /^#token=([^/]+)(\/.*)?$/s;

/** Return the stored key, or null. */
export const readKey = () => sessionStorage.getItem(NAME);

/** Store a key for this tab. */
export const storeKey = (key) => sessionStorage.setItem(NAME, key);

/** Remove the stored key. */
export const removeKey = () => sessionStorage.removeItem(NAME);

/** Keep the token of the address that the server printed, and take it out of the address; false where there is none. */
export function takeToken() {
  const found = TOKEN.exec(location.hash);
  if (!found) return false;
  storeKey(found[1]);
  history.replaceState(null, "", `#${found[2] ?? "/"}`);
  return true;
}

/** Give the headers that carry the key. */
export function keyHeaders() {
  const key = readKey();
  return key ? { Authorization: `Bearer ${key}` } : {};
}
