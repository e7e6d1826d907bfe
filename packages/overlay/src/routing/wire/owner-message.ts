/**
 * Messages between a member and the owner of some of its keys, in the second tier.
 * docs/spec/routing.md has the bytes.
 *
 *     register   version 1, kind 1 (0 state, 1 changes), boot 6, base 6, number 6, view 8,
 *                added hashes (count 6, 8 each), removed hashes
 *     its answer version 1, 1 if taken, 0 if the owner needs the state
 *     find       version 1, hash 8, view 8
 *     its answer version 1, 1 if complete, count 1, names of the holders
 */

import { type HashBits, MessageReader, MessageWriter } from './message-bytes.ts';

export interface Registration {
  /** A state replaces everything; changes follow the message with the number `base`. */
  readonly kind: 'state' | 'changes';
  /** Rises with each start of the member. */
  readonly boot: number;
  readonly base: number;
  readonly number: number;
  /** The members, as the sender knows them. */
  readonly view: HashBits;
  readonly added: readonly HashBits[];
  readonly removed: readonly HashBits[];
}

export interface FindQuestion {
  readonly hash: HashBits;
  readonly view: HashBits;
}

export interface FindAnswer {
  readonly holders: readonly string[];
  /**
   * Whether the owner knows the keys of all members, so that no holder means that there is none.
   */
  readonly isComplete: boolean;
}

/** The most holders in an answer. */
export const MOST_HOLDERS = 16;

export function writeRegistration(registration: Registration): Uint8Array {
  const { kind, boot, base, number, view, added, removed } = registration;
  return new MessageWriter()
    .byte(kind === 'state' ? 0 : 1)
    .whole(boot)
    .whole(base)
    .whole(number)
    .hash(view)
    .hashes(added)
    .hashes(removed)
    .finish();
}

export function readRegistration(bytes: Uint8Array): Registration {
  const reader = new MessageReader(bytes);
  const registration: Registration = {
    kind: reader.choice(1) === 0 ? 'state' : 'changes',
    boot: reader.whole(),
    base: reader.whole(),
    number: reader.whole(),
    view: reader.hash(),
    added: reader.hashes(),
    removed: reader.hashes(),
  };
  reader.end();
  return registration;
}

export function writeTaken(isTaken: boolean): Uint8Array {
  return new MessageWriter().byte(isTaken ? 1 : 0).finish();
}

export function readTaken(bytes: Uint8Array): boolean {
  const reader = new MessageReader(bytes);
  const isTaken = reader.choice(1) === 1;
  reader.end();
  return isTaken;
}

export function writeFind({ hash, view }: FindQuestion): Uint8Array {
  return new MessageWriter().hash(hash).hash(view).finish();
}

export function readFind(bytes: Uint8Array): FindQuestion {
  const reader = new MessageReader(bytes);
  const question = { hash: reader.hash(), view: reader.hash() };
  reader.end();
  return question;
}

export function writeFound({ holders, isComplete }: FindAnswer): Uint8Array {
  const writer = new MessageWriter().byte(isComplete ? 1 : 0).byte(holders.length);
  for (const holder of holders) writer.name(holder);
  return writer.finish();
}

export function readFound(bytes: Uint8Array): FindAnswer {
  const reader = new MessageReader(bytes);
  const isComplete = reader.choice(1) === 1;
  const holders = Array.from({ length: reader.choice(MOST_HOLDERS) }, () => reader.name());
  reader.end();
  return { isComplete, holders };
}
