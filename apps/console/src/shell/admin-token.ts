/**
 * The token for actions. A node prints the address of its console with `#token=…`. The fragment is
 * never sent; it moves to the storage of this tab and leaves the address bar before anything is
 * drawn, so that an address that is copied has no token in it.
 */

const NAME = 'bloomery-token';
const FRAGMENT = /^#token=([\x21-\x7e]{1,800})$/;
const TOKEN = /^[\x21-\x7e]{16,256}$/;

/**
 * The token in place of the storage, if the browser's settings forbid that. It ends with the page.
 * Each file of the page has a copy of this module, so it stands in the object that they share.
 */
const unstored = {
  keep: (token: string) => void globalThis.bloomeryConsole.parts.set(NAME, token),
  token: () => (globalThis.bloomeryConsole.parts.get(NAME) as string | undefined) ?? null,
};

export function takeTokenFromAddress(): void {
  const match = FRAGMENT.exec(location.hash);
  if (match === null) return;
  const token = decoded(match[1]);
  if (TOKEN.test(token)) keepToken(token);
  // A fragment that is no token leaves the address as well: it may be a token with a typing error.
  history.replaceState(null, '', location.pathname + location.search);
}

export function keepToken(token: string): void {
  try {
    sessionStorage.setItem(NAME, token);
  } catch {
    unstored.keep(token);
  }
}

/** The token of this tab, or null. */
export function knownToken(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return unstored.token();
  }
}

/** A token may have signs that a browser escapes. Text with a % that escapes nothing is itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
