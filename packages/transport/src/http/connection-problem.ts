/**
 * The words for an operator about a connection to a neighbour that did not come about, or that
 * ended before the answer. Errors of TLS name a rule of OpenSSL; an operator wants to know which
 * file or clock to look at. Node's own message stands behind the words where it says more.
 */

/** Codes of Node for a certificate that no known authority signed. */
const UNSIGNED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);

export function connectionProblem(error: Error, isTls: boolean): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (UNSIGNED.has(code)) return `its certificate is from another authority: ${message}`;
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired; or is the clock of this node wrong?';
  if (code === 'CERT_NOT_YET_VALID')
    return 'its certificate is not valid yet; or is the clock of this node wrong?';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its certificate is for another address';
  // OpenSSL reads the first bytes of an HTTP answer as a version of TLS.
  if (isTls && message.includes('wrong version number')) return 'no TLS there: has it a certificate?';
  if (!isTls && code === 'ECONNRESET') return 'closed without an answer: does it want https://?';
  return `closed: ${message}`;
}
