import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { HashLedger } from './hash-ledger.ts';
import type { HashHalves } from './owner-question.ts';

const text = ({ low, high }: HashHalves) => `${high}.${low}`;

test('a ledger behaves as a plain map, with hashes that fall into few slots', () => {
  const random = new Random(21);
  for (let round = 0; round < withEffort(6, 2); round++) {
    const ledger = new HashLedger();
    const model = new Map<string, { hash: HashHalves; entry: number }>();
    for (let i = 0; i < 5000; i++) {
      // One part of the index, and runs that wrap around its end.
      const hash = {
        low: 2 ** 32 - 1 - random.below(4) * 64 - random.below(3 * round + 1),
        high: 1024 * random.below(20),
      };
      const known = model.get(text(hash));
      expect(ledger.find(hash)).toBe(known?.entry ?? -1);
      if (random.below(5) < 3) {
        const entry = ledger.add(hash);
        if (known !== undefined) expect(entry).toBe(known.entry);
        model.set(text(hash), { hash, entry });
      } else if (known !== undefined) {
        ledger.remove(known.entry);
        model.delete(text(hash));
      }
      expect(ledger.size).toBe(model.size);
    }
    for (const { hash, entry } of model.values()) expect(ledger.hashAt(entry)).toEqual(hash);
    expect([...ledger.hashes()].map(text).sort()).toEqual([...model.keys()].sort());
  }
});

test('numbers of removed entries are used again', () => {
  const ledger = new HashLedger();
  const entries = [1, 2, 3].map((low) => ledger.add({ low, high: 0 }));
  expect(entries).toEqual([0, 1, 2]);
  ledger.remove(1);
  expect(() => ledger.remove(1)).toThrow('Cannot remove a hash: expected the number of an entry, got 1');
  expect(ledger.add({ low: 9, high: 9 })).toBe(1);
  expect(ledger.hashAt(1)).toEqual({ low: 9, high: 9 });
});

test('a walk over all hashes gives each one that stays once, whatever comes and goes', () => {
  const random = new Random(22);
  const ledger = new HashLedger();
  for (let low = 0; low < 3000; low++) ledger.add({ low, high: low });
  const gone = new Set<number>();
  const seen = new Map<number, number>();
  for (const { low } of ledger.hashes()) {
    seen.set(low, (seen.get(low) ?? 0) + 1);
    const victim = random.below(3000);
    if (!gone.has(victim)) {
      ledger.remove(ledger.find({ low: victim, high: victim }));
      gone.add(victim);
    }
    if (seen.size < 500) ledger.add({ low: 10_000 + seen.size, high: 0 });
  }
  for (let low = 0; low < 3000; low++) if (!gone.has(low)) expect(seen.get(low)).toBe(1);
});

test('a ledger finds all of many hashes, and no others', () => {
  const random = new Random(23);
  const ledger = new HashLedger();
  const hashes = Array.from({ length: withEffort(300_000, 1000) }, () => ({
    low: random.bits() >>> 0,
    high: random.bits() >>> 0,
  }));
  for (const hash of hashes) ledger.add(hash);
  expect(ledger.size).toBe(hashes.length);
  for (const [entry, hash] of hashes.entries()) {
    if (ledger.find(hash) !== entry) expect(ledger.find(hash)).toBe(entry);
    const other = { low: hash.high, high: hash.low };
    if (ledger.find(other) !== -1) expect(ledger.find(other)).toBe(-1);
  }
});
