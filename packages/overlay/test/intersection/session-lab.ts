/** Runs two sessions against each other, and notes what each side sends. */

import { Random } from '@bloomery/testkit/statistics';
import {
  type IntersectionOptions,
  IntersectionSession,
} from '../../src/private/intersection/intersection-session.ts';

type SideOptions = Omit<IntersectionOptions, 'role' | 'random'>;

export interface Side {
  readonly keys: readonly string[];
  readonly options: SideOptions;
  readonly seed: number;
}

export interface Transcript {
  readonly fromInitiator: Uint8Array[];
  readonly fromResponder: Uint8Array[];
}

export function seeded(seed: number): (length: number) => Uint8Array {
  const random = new Random(seed);
  return (length) => random.bytes(length);
}

export function openPair(initiator: Side, responder: Side): [IntersectionSession, IntersectionSession] {
  const open = ({ keys, options, seed }: Side, role: 'initiator' | 'responder') =>
    new IntersectionSession(keys, { ...options, role, random: seeded(seed) });
  return [open(initiator, 'initiator'), open(responder, 'responder')];
}

/** Runs a pair to its end. `cut` says into which pieces bytes are cut on the way. */
export function runPair(
  a: IntersectionSession,
  b: IntersectionSession,
  cut: (bytes: Uint8Array) => Uint8Array[] = (bytes) => [bytes],
): Transcript {
  const transcript: Transcript = { fromInitiator: [], fromResponder: [] };
  while (!(a.done && b.done)) {
    const moved = move(a, b, transcript.fromInitiator, cut) + move(b, a, transcript.fromResponder, cut);
    if (moved === 0) throw new Error('Cannot go on: expected bytes of one side, got none');
  }
  return transcript;
}

function move(
  from: IntersectionSession,
  to: IntersectionSession,
  sent: Uint8Array[],
  cut: (bytes: Uint8Array) => Uint8Array[],
): number {
  let moved = 0;
  for (let bytes = from.pull(); bytes !== null; bytes = from.pull()) {
    sent.push(bytes);
    moved += bytes.length;
    for (const piece of cut(bytes)) to.receive(piece);
  }
  return moved;
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export const texts = (keys: readonly Uint8Array[] | null): string[] | null =>
  keys?.map((key) => new TextDecoder().decode(key)) ?? null;
