/**
 * Golden bytes of whole sessions: a list, symbols, a filter, a large one that all counters size,
 * kept symbols, and keys that are sent.
 * A program in another language can replay them. `BLOOMERY_WRITE_GOLDEN=1` writes them again, which
 * no release may need.
 */

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KeySet, type ReconcileKeys, Reconciler } from '../../src/index.ts';
import { carry } from '../session-lab.ts';

const FILE = new URL('../golden/sessions-v1.json', import.meta.url);

const numbered = (from: number, end: number) =>
  Array.from({ length: end - from }, (_, i) => `key-${from + i}`);

function kept(keys: string[]): KeySet {
  const set = new KeySet({ secret: Uint8Array.from({ length: 16 }, (_, i) => i), symbols: 64 });
  set.addMany(keys);
  return set;
}

const SESSIONS: Record<string, readonly [ReconcileKeys, ReconcileKeys, boolean]> = {
  list: [numbered(0, 12), numbered(5, 20), false],
  symbols: [numbered(0, 1000), numbered(12, 1010), false],
  filter: [numbered(0, 300), numbered(120, 420), false],
  counters: [numbered(0, 25_000), numbered(8000, 33_000), false],
  kept: [kept(numbered(0, 500)), kept(numbered(3, 502)), false],
  equal: [numbered(0, 500), numbered(0, 500), false],
  keys: [numbered(0, 40), numbered(2, 43), true],
};

/** The messages of a session in hex; long ones as their length and SHA-256. */
function messages([a, b, exchange]: readonly [ReconcileKeys, ReconcileKeys, boolean]): string[] {
  const random = (from: number) => Uint8Array.from({ length: 8 }, (_, i) => from + i);
  const said: string[] = [];
  carry(
    new Reconciler(a, { role: 'initiator', random: random(0), exchange }),
    new Reconciler(b, { role: 'responder', random: random(8), exchange }),
    (from, bytes) => {
      const digest = createHash('sha256').update(bytes).digest('hex');
      const text =
        bytes.length > 400 ? `${bytes.length} bytes ${digest}` : Buffer.from(bytes).toString('hex');
      said.push(`${from} ${text}`);
    },
  );
  return said;
}

test('sessions say what the golden file has, byte by byte', () => {
  const now = Object.fromEntries(Object.entries(SESSIONS).map(([name, each]) => [name, messages(each)]));
  if (process.env.BLOOMERY_WRITE_GOLDEN === '1') writeFileSync(FILE, `${JSON.stringify(now, null, 2)}\n`);
  expect(now).toEqual(JSON.parse(readFileSync(FILE, 'utf8')));
});
