/**
 * Names and times of the published files (docs/spec/annotations.md): what the publisher writes and
 * what a client asks for.
 */

import { URL_FORM } from '../pages/normalize-url.ts';

/** The lengths of time that updates cover, in periods: an hour, six hours, a day, a week. */
export const WINDOWS = [1, 6, 24, 168] as const;

export const PERIOD_S = 3600;

/** The rate of false positives of a list at its capacity. */
export const FALSE_POSITIVE_RATE = 0.01;

/** The signature of the latest list. */
export const HEAD_FILE = 'head';
/** A signature has at most 120 bytes, a root of 32 and a name of 255. */
export const MOST_HEAD_BYTES = 512;
/** Files and plain lists above this size are refused. */
export const MOST_FILE_BYTES = 2 ** 26;

export const GROUP_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** The name in the signature of a group's list. */
export function signedName(group: string): string {
  return `annotations/${URL_FORM}/${group}`;
}

export function fullFile(epoch: number): string {
  return `full-${epoch}`;
}

/** The name of the update for all states of at most `periods` periods before an epoch. */
export function updateFile(periods: number, epoch: number): string {
  return `u${periods}-${epoch}`;
}

/** The kind and the epoch of a published file other than the head, or null for other names. */
export function readFileName(name: string): { readonly kind: string; readonly epoch: number } | null {
  const match = /^(full|u1|u6|u24|u168)-(\d{1,16})$/.exec(name);
  return match === null ? null : { kind: match[1], epoch: Number(match[2]) };
}

/** The file that leads from a list of an earlier epoch to that of `epoch` in the fewest bytes. */
export function fileFrom(heldEpoch: number | null, epoch: number, periodS: number): string {
  const age = heldEpoch === null ? Number.POSITIVE_INFINITY : epoch - heldEpoch;
  const periods = WINDOWS.find((window) => age <= window * periodS);
  return periods === undefined ? fullFile(epoch) : updateFile(periods, epoch);
}

/** The epoch of a publication at this time: that of its period, but always above the last one. */
export function epochAt(nowS: number, lastEpoch: number | null, periodS: number): number {
  return Math.max(Math.floor(nowS / periodS) * periodS, (lastEpoch ?? -1) + 1);
}
