/**
 * Members of Cache-Status (RFC 9211): how a cache handled a request, for those who look for the reason.
 *
 * The field is a List of Structured Fields, each cache on the way appends one member. A line of its own does that, so nothing that an
 * inner cache wrote needs to be read. RFC 9211, 2 asks not to add a member to responses that the intermediary makes up itself (a 502 or
 * 504 of its own), other than those made from a stored one (304, 206).
 */

import type { FetchReason } from './decision.ts';
import { secondsLeft } from './freshness.ts';
import type { StoredResponse } from './stored-response.ts';

/** It was answered from the store, without going on (2.1). `ttl`: seconds it is still fresh, negative if stale (2.4). */
export function hitStatus(name: string, stored: StoredResponse, now: number): string {
  return `${cacheName(name)}; hit; ttl=${secondsLeft(stored, now)}`;
}

export interface Forwarded {
  /** Why it went on (2.2). */
  readonly fwd: FetchReason;
  /** What the origin answered, if the client got something else (2.3): 304 when a validated response is sent. */
  readonly fwdStatus?: number;
  /** The response was kept (2.5). */
  readonly stored?: boolean;
  /** Several requests waited for one (2.6). */
  readonly collapsed?: boolean;
  readonly ttl?: number;
  /** Anything that helps (2.8). */
  readonly detail?: string;
}

/** It went on towards the origin. */
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

/** RFC 9651, 3.3.3 and 3.3.4. What neither can hold (anything but printable ASCII) becomes `?`. */
function tokenOrString(text: string): string {
  if (TOKEN.test(text)) return text;
  return `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`;
}

const TOKEN = /^[A-Za-z*][-A-Za-z0-9:/!#$%&'*+.^_`|~]*$/;
