/** Sync messages that Automerge wrote: test/golden/README.md says how. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { AutomergeSyncFilter, readAutomergeSync } from '../../src/automerge/index.ts';

interface GoldenMessage {
  readonly name: string;
  readonly message: string;
  readonly heads: readonly string[];
  readonly need: readonly string[];
  readonly have: readonly { readonly lastSync: readonly string[]; readonly bloom: string }[];
  readonly members: readonly string[];
}

const MESSAGES: readonly GoldenMessage[] = JSON.parse(
  readFileSync(new URL('../golden/automerge-sync.json', import.meta.url), 'utf8'),
);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));

test.each(MESSAGES)('$name: heads, needs and filters are those that Automerge decodes', (golden) => {
  const { heads, need, have } = readAutomergeSync(bytesOf(golden.message));
  expect([heads.map(hex), need.map(hex)]).toEqual([golden.heads, golden.need]);
  expect(
    have.map(({ lastSync, filter }) => ({ lastSync: lastSync.map(hex), bloom: hex(filter.encode()) })),
  ).toEqual(golden.have);
});

test.each(MESSAGES)('$name: the filter has the changes of the sender, and is ours bit for bit', (golden) => {
  const { filter } = readAutomergeSync(bytesOf(golden.message)).have[0];
  const members = golden.members.map(bytesOf);
  expect(filter.entries).toBe(members.length);
  expect(members.every((hash) => filter.has(hash))).toBe(true);
  expect(hex(AutomergeSyncFilter.of(members).encode())).toBe(golden.have[0].bloom);
});

test('the filter of 400 changes has few changes of other documents', () => {
  const most = MESSAGES.find(({ name }) => name === '400 changes') as GoldenMessage;
  const { filter } = readAutomergeSync(bytesOf(most.message)).have[0];
  const others = MESSAGES.flatMap(({ members }) => members).filter((hash) => !most.members.includes(hash));
  expect(others.length).toBeGreaterThan(10);
  expect(others.filter((hash) => filter.has(bytesOf(hash))).length).toBeLessThan(3);
});
