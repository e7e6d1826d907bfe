/**
 * Members of Cache-Status (RFC 9211), which tell operators and developers how a cache handled a
 * request.
 *
 * The field is a List of Structured Fields to which each cache on the path appends one member. We
 * append a line of our own, so the members written by inner caches need not be parsed. RFC 9211, 2
 * asks intermediaries not to add a member to responses that they generate themselves (such as their
 * own 502 or 504), except for those generated from a stored response (304, 206).
 */

import type { FetchReason } from './decision.ts';
import { secondsLeft } from './freshness.ts';
import type { StoredResponse } from './stored-response.ts';

/**
 * The request was answered from the store without being forwarded (2.1). `ttl` is the number of
 * seconds for which the response is still fresh, negative if it is stale (2.4).
 */
export function hitStatus(name: string, stored: StoredResponse, now: number): string {
  return `${cacheName(name)}; hit; ttl=${secondsLeft(stored, now)}`;
}

export interface Forwarded {
  /** Reason why the request was forwarded (2.2). */
  readonly fwd: FetchReason;
  /**
   * The origin's status, if the client got another one (2.3): 304 when a validated response is
   * sent.
   */
  readonly fwdStatus?: number;
  /** The response was stored (2.5). */
  readonly stored?: boolean;
  /** Several requests shared one request to the origin (2.6). */
  readonly collapsed?: boolean;
  readonly ttl?: number;
  /** Additional information for debugging (2.8). */
  readonly detail?: string;
}

/** The request was forwarded towards the origin. */
export function forwardStatus(name: string, forwarded: Forwarded): string {
  let status = `${cacheName(name)}; fwd=${forwarded.fwd}`;
  if (forwarded.fwdStatus !== undefined) status += `; fwd-status=${forwarded.fwdStatus}`;
  if (forwarded.ttl !== undefined) status += `; ttl=${Math.trunc(forwarded.ttl)}`;
  if (forwarded.stored === true) status += '; stored';
  if (forwarded.collapsed === true) status += '; collapsed';
  if (forwarded.detail !== undefined) status += `; detail=${tokenOrString(forwarded.detail)}`;
  return status;
}

/** 2: a cache is named by a Token or a String. */
export function cacheName(name: string): string {
  if (name !== lastName) {
    lastName = name;
    lastNameText = tokenOrString(name);
  }
  return lastNameText;
}

let lastName: string | undefined;
let lastNameText = '';

/**
 * Formats text as in RFC 9651, 3.3.3 and 3.3.4. Characters that neither type can hold (anything but
 * printable ASCII) become `?`.
 */
function tokenOrString(text: string): string {
  if (TOKEN.test(text)) return text;
  return `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`;
}

const TOKEN = /^[A-Za-z*][-A-Za-z0-9:/!#$%&'*+.^_`|~]*$/;
