/** The bytes of docs/spec/reconcile.md are those of the program. */

import { readFileSync } from 'node:fs';
import { hashKeys } from 'bloomery';
import { expect, test } from 'vitest';
import { Reconciler } from '../../src/index.ts';
import { sessionScheme } from '../../src/sets/session-salt.ts';
import { encodeCells } from '../../src/symbols/cell.ts';
import { SymbolSource } from '../../src/symbols/symbol-source.ts';
import { carry } from '../session-lab.ts';

const [, example] = readFileSync(
  new URL('../../../../docs/spec/reconcile.md', import.meta.url),
  'utf8',
).split('## A worked example');

/** The hex digits that the page shows after a name, over several lines. */
function shown(name: string): string {
  return (new RegExp(`^${name} +((?:[0-9A-F]{2}\\s*)+)`, 'm').exec(example)?.[1] ?? '').replace(/\s+/g, '');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').toUpperCase();
}

const FIRST = Uint8Array.from({ length: 8 }, (_, i) => i);
const SECOND = Uint8Array.from({ length: 8 }, (_, i) => i + 8);

test('docs/spec/reconcile.md shows the bytes of the session that it tells', () => {
  const a = new Reconciler(['a', 'b', 'c'], { role: 'initiator', random: FIRST });
  const b = new Reconciler(['b', 'c', 'd', 'e'], { role: 'responder', random: SECOND });
  const said: string[] = [];
  carry(a, b, (_, bytes) => said.push(hex(bytes)));
  expect(['hello', 'summary', 'tell', 'verdict'].map(shown)).toEqual(said);
  expect(b.result.onlyHere).toEqual(['d', 'e']);
});

test('docs/spec/reconcile.md shows the hashes and symbols of a set', () => {
  const keys = ['a', 'b', 'c'];
  const { words } = hashKeys(keys, sessionScheme(FIRST, null, 0));
  for (const [i, key] of keys.entries()) {
    const bytes = new Uint8Array(words.slice(2 * i, 2 * i + 2).buffer).reverse();
    expect(shown(key)).toBe(hex(bytes));
  }
  expect(shown('width 5')).toBe(hex(encodeCells(new SymbolSource(words, 3, 3).block(6), 6, 5)));
  expect(shown('width 8')).toBe(hex(encodeCells(new SymbolSource(words, 3, 5).block(6), 6, 8)));
});
