/**
 * The token for actions. A node prints the address of its console with `#token=…`. The fragment is
 * never sent; it moves to the storage of this tab and leaves the address bar before anything is
 * drawn, so that an address that is copied has no token in it.
 */

const NAME = 'bloomery-token';
const FRAGMENT = /^#token=([\x21-\x7e]{16,256})$/;

export function takeTokenFromAddress(): void {
  const match = FRAGMENT.exec(location.hash);
  if (match === null) return;
  keepToken(decodeURIComponent(match[1]));
  history.replaceState(null, '', location.pathname + location.search);
}

export function keepToken(token: string): void {
  sessionStorage.setItem(NAME, token);
}

/** The token of this tab, or null. */
export function knownToken(): string | null {
  return sessionStorage.getItem(NAME);
}
