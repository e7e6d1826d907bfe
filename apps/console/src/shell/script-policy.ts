/**
 * The one place that may turn text into the address of a script. The page's policy demands trusted
 * types for scripts, so an address that did not pass here is refused by the browser, whichever code
 * it comes from. Only files of the build and workers from our own blobs pass.
 *
 * Browsers without trusted types get the text itself; there `script-src 'self'` still holds.
 */

interface Policy {
  createScriptURL(address: string): string;
}

const FILES = /^[a-z]+\.js$/;

function check(address: string): string {
  if (FILES.test(address) || address.startsWith('blob:')) return address;
  throw new TypeError(`Cannot load a script: expected a file of this page, got ${address.slice(0, 100)}`);
}

const factory = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } })
  .trustedTypes;
const policy = factory?.createPolicy('bloomery-console', { createScriptURL: check });

/** The address of a file of the build or of a blob, for `src` of a script and for `Worker`. */
export function scriptAddress(address: string): string {
  return policy === undefined ? check(address) : policy.createScriptURL(address);
}
