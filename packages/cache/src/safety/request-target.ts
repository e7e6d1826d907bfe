/**
 * Checks that there is exactly one way to read the request target (RFC 9112, 3.2) and the authority
 * in it or in Host.
 *
 * The four forms are told apart by method and first character: CONNECT takes only the authority
 * form, `*` is for OPTIONS only, `/` begins the origin form, and all other targets must be in
 * absolute form with http or https.
 *
 * Stricter than the grammar where parsers differ:
 * - A host consists of letters, digits, `-`, `.`, `_`, `~`. RFC 3986 would also allow `%41`, `!`,
 *   `,`, `;`, which no DNS name needs and which every library reads differently. A host that ends
 *   in a number must be an IPv4 address. Zones (`[fe80::1%25eth0]`) name interfaces of this
 *   machine, and are refused.
 * - User names are refused (RFC 9110, 4.2.4: treat them as an error, they hide the real host).
 * - A backslash is refused before the query, because browsers read it as a slash. In the query it
 *   is data, and browsers send it unchanged.
 *
 * More lenient than the grammar where the web is: `"<>^`{|}[]` and lone `%` pass in paths and
 * queries, unchanged. `//host/path` is a path that begins with an empty segment. Code that resolves
 * it as a URL reference would go to another host, so use it as a string.
 */

import { parseHostLiteral } from './ip-address.ts';
import { quote, type Refusal, refusal } from './refusal.ts';

/**
 * Returns the reason for a refusal, or null if the target is valid by itself. The caller checks
 * lengths.
 */
export function checkRequestTarget(method: string, target: string): Refusal | null {
  if (target === '')
    return refusal(400, 'target-empty', 'The request has no target: expected a path or a URL.');
  if (outsideTarget.test(target)) {
    return refusal(
      400,
      'target-character',
      `The URL has a character that must be percent-encoded: ${quote(target)}.`,
    );
  }
  if (target.includes('#')) {
    return refusal(400, 'target-fragment', 'The URL has a fragment (#): fragments stay in the browser.');
  }
  if (method === 'CONNECT') return checkAuthorityForm(target);
  const first = target.charCodeAt(0);
  if (first === 0x2f) return target.includes('\\') ? checkBackslash(target) : null;
  if (target === '*') {
    if (method === 'OPTIONS') return null;
    return refusal(400, 'target-asterisk', `The target * is for OPTIONS only, not for ${quote(method)}.`);
  }
  return checkAbsoluteForm(target);
}

/**
 * The authority of a target in absolute form that has passed `checkRequestTarget`; null for other
 * forms.
 */
export function targetAuthority(target: string): string | null {
  const start = target.indexOf('://');
  if (start < 0 || target.charCodeAt(0) === 0x2f) return null;
  return target.slice(start + 3, authorityEnd(target, start + 3));
}

/**
 * Checks `host` or `host:port`. `port` says whether a port is required (CONNECT) or optional. Valid
 * hosts are remembered: nearly all requests name one of a few, and parsing it again would be most
 * of the guard's cost (2 of 3 µs, measured).
 */
export function checkAuthority(authority: string, port: 'required' | 'optional'): Refusal | null {
  if (port === 'optional' && foundRight.has(authority)) return null;
  const bad = readAuthority(authority, port);
  if (bad === null && port === 'optional') {
    if (foundRight.size >= 256) foundRight.clear();
    foundRight.add(authority);
  }
  return bad;
}

/** Bounded in number; each text has at most 262 characters. */
const foundRight = new Set<string>();

function readAuthority(authority: string, port: 'required' | 'optional'): Refusal | null {
  if (authority.includes('@')) {
    return refusal(
      400,
      'authority-userinfo',
      'A user name before the host (user@host) is not accepted here.',
    );
  }
  const match = authorityForm.exec(authority);
  if (match === null || authority.length > 262) {
    return refusal(400, 'authority-invalid', `Not a host name or address: ${quote(authority)}.`);
  }
  const host = match[1]!;
  const digits = match[2];
  if (!host.startsWith('[') && (host.startsWith('.') || host.includes('..') || host.length > 254)) {
    return refusal(400, 'authority-invalid', `Not a host name: ${quote(host)}.`);
  }
  if (parseHostLiteral(host) === 'invalid') {
    return refusal(400, 'authority-invalid', `Not a host name or address: ${quote(host)}.`);
  }
  if (digits === undefined || digits === '') {
    if (port === 'optional') return null;
    return refusal(400, 'authority-port', `A port is missing after the host: ${quote(authority)}.`);
  }
  // The pattern allows at most five digits.
  if (Number(digits) < 1 || Number(digits) > 65535) {
    return refusal(400, 'authority-port', `Not a port: expected 1 to 65535, got ${quote(digits)}.`);
  }
  return null;
}

const outsideTarget = /[^\x21-\x7e]/;
const authorityForm = /^([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{0,5}))?$/;

function checkAuthorityForm(target: string): Refusal | null {
  const bad = checkAuthority(target, 'required');
  if (bad === null) return null;
  // RFC 9112, 3.2.3: only host and port.
  return refusal(400, bad.code, `CONNECT needs host:port and nothing else. ${bad.message}`);
}

function checkAbsoluteForm(target: string): Refusal | null {
  const scheme = /^https?:\/\//i.exec(target);
  if (scheme === null) {
    return refusal(
      400,
      'target-scheme',
      `The target must begin with / or be an http:// or https:// URL, got ${quote(target)}.`,
    );
  }
  const end = authorityEnd(target, scheme[0].length);
  const authority = target.slice(scheme[0].length, end);
  // RFC 9110, 4.2.1: a URL with an empty host is an error.
  if (authority === '') return refusal(400, 'authority-empty', `The URL has no host: ${quote(target)}.`);
  if (authority.includes('\\')) return checkBackslash(target);
  return checkAuthority(authority, 'optional') ?? (target.includes('\\') ? checkBackslash(target) : null);
}

function checkBackslash(target: string): Refusal | null {
  const query = target.indexOf('?');
  const backslash = target.indexOf('\\');
  if (query >= 0 && backslash > query) return null;
  return refusal(400, 'target-backslash', 'The URL has a backslash: expected %5C, or / if that was meant.');
}

function authorityEnd(target: string, from: number): number {
  for (let i = from; i < target.length; i++) {
    const char = target.charCodeAt(i);
    if (char === 0x2f || char === 0x3f) return i;
  }
  return target.length;
}
