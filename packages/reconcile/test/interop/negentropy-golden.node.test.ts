/** Sessions that other implementations recorded: test/golden/README.md says how. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  decodeNegentropy,
  encodeNegentropy,
  type NegentropyItem,
  NegentropyItems,
  NegentropySession,
} from '../../src/negentropy/index.ts';

interface GoldenSession {
  readonly name: string;
  readonly client: 'reference' | 'nostr-tools';
  readonly frame?: number;
  readonly count: number;
  readonly base: number;
  readonly step: number;
  readonly each: number;
  readonly from: number;
  readonly period: number;
  readonly onlyThere?: boolean;
  readonly have: number;
  readonly need: number;
  readonly messages: readonly string[];
}

const SESSIONS: readonly GoldenSession[] = JSON.parse(
  readFileSync(new URL('../golden/negentropy-v1.json', import.meta.url), 'utf8'),
);

const hex = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString('hex'));
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));

function itemsOf({ name, count, base, step, each, from, period, onlyThere }: GoldenSession) {
  const here: NegentropyItem[] = [];
  const there: NegentropyItem[] = [];
  for (let i = 0; i < count; i++) {
    const id = new Uint8Array(createHash('sha256').update(`${name}/${i}`).digest());
    const item = { timestamp: base + step * Math.floor(i / each), id };
    const rest = i < from ? -1 : i % period;
    if (!onlyThere && rest !== 1) here.push(item);
    if (onlyThere || rest !== 0) there.push(item);
  }
  return { here, there };
}

test.each(SESSIONS)('$name: our client gives the messages of $client, and finds the same', (session) => {
  const { here, there } = itemsOf(session);
  const limit = session.frame === undefined ? {} : { frameSizeLimit: session.frame };
  const ours = new NegentropySession(new NegentropyItems(here), { role: 'initiator', ...limit });
  expect(hex(ours.start())).toBe(session.messages[0]);
  for (let i = 1; i < session.messages.length; i += 2)
    expect(hex(ours.receive(bytesOf(session.messages[i])))).toBe(session.messages[i + 1] ?? null);
  expect(ours.done).toBe(true);
  const missing = (from: NegentropyItem[], other: NegentropyItem[]) =>
    from.filter((item) => !other.includes(item)).map(({ id }) => hex(id));
  expect(ours.onlyHere.map(hex).sort()).toEqual(missing(here, there).sort());
  expect(ours.onlyThere.map(hex).sort()).toEqual(missing(there, here).sort());
  expect([ours.onlyHere.length, ours.onlyThere.length]).toEqual([session.have, session.need]);
});

test.each(SESSIONS)('$name: our server gives the messages of the reference', (session) => {
  const { there } = itemsOf(session);
  const limit = session.frame === undefined ? {} : { frameSizeLimit: session.frame };
  const ours = new NegentropySession(new NegentropyItems(there), { role: 'responder', ...limit });
  for (let i = 0; i < session.messages.length; i += 2) {
    const answer = ours.receive(bytesOf(session.messages[i])) as Uint8Array;
    const theirs = bytesOf(session.messages[i + 1]);
    if (session.frame === undefined) expect(hex(answer)).toBe(hex(theirs));
    else expectSameBeginning(answer, theirs, session.frame);
  }
});

/**
 * Expects two messages that end at a limit to agree in all ranges before the last one. The last one
 * is a fingerprint for all the rest. We fill a message further than the reference, and take the
 * fingerprint from the last bound on, as the specification says; the reference leaves a range out.
 */
function expectSameBeginning(answer: Uint8Array, theirs: Uint8Array, limit: number): void {
  expect(answer.length).toBeLessThanOrEqual(limit);
  const expected = [...decodeNegentropy(theirs)].slice(0, -1);
  expect(expected.length).toBeGreaterThan(3);
  expect([...decodeNegentropy(answer)].slice(0, expected.length)).toEqual(expected);
}

test('every recorded message is decoded, and encoded again to the same bytes', () => {
  for (const { messages } of SESSIONS)
    for (const message of messages)
      expect(hex(encodeNegentropy(decodeNegentropy(bytesOf(message))))).toBe(message);
});
