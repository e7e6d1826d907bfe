/**
 * Reads and composes the contents of a lock, which name its owner. A lock has one of two forms:
 *
 * - **full**: a file with a JSON object: process, beginning, boot, namespace, host, socket, token,
 *   and whether the owner gives signs of life. Version 0.1.0 of the cache wrote the same without
 *   `host` and `signs`.
 * - **short**: `PID BEGINNING HOST/NAMESPACE TOKEN`, about 50 bytes, as the target of a symbolic
 *   link that leads nowhere, or as a file. Version 0.1.0 of the command wrote nothing else. It is
 *   still written for single files where the full form is impossible: on a full disk, because file
 *   systems keep such a short link without taking room for it, and on file systems without hard
 *   links.
 *
 * A file with anything else in it is damaged. A link with anything else in it, or a lock that
 * cannot be read, was made by another program and is respected.
 */

import { closeSync, constants, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from '../file-error.ts';
import { beginningOf, bootId, pidNamespace } from './process-identity.ts';

export interface LockOwner {
  readonly pid: number;
  /** Empty if unknown. */
  readonly began: string;
  /** Empty in the short form. */
  readonly boot: string;
  /** Empty if the system has none. */
  readonly namespace: string;
  /** Empty if unknown. */
  readonly host: string;
  /** Name of the socket beside the lock; empty if there is none. */
  readonly socket: string;
  readonly token: string;
  /**
   * Whether the owner writes its lock again every 5 s, which also shows that its event loop runs.
   */
  readonly signs: boolean;
}

export interface LockRecord {
  readonly text: string;
  readonly owner: LockOwner | 'damaged' | 'foreign';
}

/** The owner of a lock, for messages. */
export interface LockHolder {
  /** Number of the process, or undefined if the lock does not say. */
  readonly pid: number | undefined;
  readonly where: 'here' | 'another container' | 'another machine';
  /** The name of another machine; empty if unknown. */
  readonly host: string;
}

/** The full form for this process. */
export function ownText(token: string, socket: string, signs: boolean): string {
  const owner: LockOwner = {
    pid: process.pid,
    began: beginningOf(process.pid),
    boot: bootId(),
    namespace: pidNamespace(),
    host: hostname(),
    socket,
    token,
    signs,
  };
  return JSON.stringify(owner);
}

/** The short form for this process. */
export function ownShortText(token: string): string {
  const number = namespaceNumber();
  const host = number === '' ? hostname() : `${hostname()}/${number}`;
  return `${process.pid} ${beginningOf(process.pid) || '?'} ${host} ${token.slice(0, 8)}`;
}

/**
 * Reads the lock at a path; undefined if there is none. It follows no link and waits for no pipe.
 */
export function readLock(path: string): LockRecord | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  try {
    if (found.isSymbolicLink()) {
      const text = readlinkSync(path);
      return { text, owner: parseShort(text) ?? 'foreign' };
    }
    if (!found.isFile()) return { text: '', owner: 'foreign' };
    const text = readStart(path);
    return { text, owner: parseFull(text) ?? parseShort(text) ?? 'damaged' };
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? undefined : { text: '', owner: 'foreign' };
  }
}

export function holderOf(owner: LockRecord['owner']): LockHolder {
  if (typeof owner === 'string') return UNKNOWN_HOLDER;
  const { pid, boot, host } = owner;
  const where = (place: LockHolder['where'], name = ''): LockHolder => ({ pid, where: place, host: name });
  const sameMachine = boot === '' ? host === hostname() : boot === bootId();
  if (!sameMachine) return where('another machine', host === hostname() ? '' : host);
  return where(isOwnNamespace(owner) ? 'here' : 'another container');
}

export const UNKNOWN_HOLDER: LockHolder = { pid: undefined, where: 'here', host: '' };

/** For example `process 12 of another container`. */
export function describeHolder({ pid, where, host }: LockHolder): string {
  if (pid === undefined) return 'another process';
  if (where === 'here') return `process ${pid}`;
  return `process ${pid} ${host === '' ? `of ${where}` : `on ${host}`}`;
}

/**
 * Whether the number of the owner means the same process here. A short lock without a namespace
 * comes from a system without namespaces.
 */
export function isOwnNamespace({ boot, namespace }: LockOwner): boolean {
  return namespace === pidNamespace() || (boot === '' && namespace === '');
}

/** More than any lock has. */
const MOST_BYTES = 4096;

function readStart(path: string): string {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const descriptor = openSync(path, flags);
  try {
    const bytes = Buffer.alloc(MOST_BYTES);
    return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(descriptor);
  }
}

function parseFull(text: string): LockOwner | undefined {
  let fields: Partial<Record<keyof LockOwner, unknown>> | null;
  try {
    fields = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { pid, began = '', boot, namespace = pidNamespace(), host = '', socket, token, signs } = fields ?? {};
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return {
    pid,
    began: String(began),
    // Never empty, which would mean the short form.
    boot: String(boot ?? '') || 'unknown',
    namespace: String(namespace),
    host: String(host),
    // Socket and token become names of files, so they are checked.
    socket: typeof socket === 'string' && /^(\.bloomery-)?lock-[0-9a-f]+\.sock$/.test(socket) ? socket : '',
    token: typeof token === 'string' && /^[0-9a-f]+$/.test(token) ? token : '',
    // Only the cache wrote this form before there was such a field, and it gives signs.
    signs: signs !== false,
  };
}

function parseShort(text: string): LockOwner | undefined {
  const [, pid, began, host, number = '', token] =
    /^(\d+) (\S+) ([^\s/]+)(?:\/(\d+))? ([0-9a-f]{8})$/.exec(text) ?? [];
  if (pid === undefined || Number(pid) <= 0) return undefined;
  return {
    pid: Number(pid),
    began: began === '?' ? '' : began,
    boot: '',
    namespace: number === '' ? '' : `pid:[${number}]`,
    host,
    socket: '',
    token,
    signs: false,
  };
}

function namespaceNumber(): string {
  return /\d+/.exec(pidNamespace())?.[0] ?? '';
}
