import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { FrameError, SecretKey, useKernel } from 'bloomery';
import { expect, test } from 'vitest';
import { ReconcileError } from '../reconcile-error.ts';
import { ReconciliationTree } from './reconciliation-tree.ts';
import { TreeSummary } from './tree-summary.ts';

const tree = new ReconciliationTree(['ant', 'bee', 'cat', 'dog']);
const message = tree.summary({ bitsPerKey: 16 }).encode();

/** The code of the error that these bytes meet, or null if they are a summary. */
function errorOf(bytes: Uint8Array): string | null {
  try {
    const summary = TreeSummary.decode(bytes);
    tree.surelyMissing(summary);
    return null;
  } catch (error) {
    if (!(error instanceof ReconcileError || error instanceof FrameError)) throw error;
    return `${error.name} ${error.code}`;
  }
}

test('TreeSummary: what is encoded can be decoded, and finds the same keys', () => {
  const other = new ReconciliationTree(['ant', 'bee', 'elk', 'fox', 'gnu']);
  const again = TreeSummary.decode(message);
  expect(again.encode()).toEqual(message);
  const found = other.surelyMissing(again, { correction: 5 }).keys;
  expect(found).toEqual(other.surelyMissing(tree.summary({ bitsPerKey: 16 }), { correction: 5 }).keys);
  expect(found).toContain('elk');
});

/** Written once; every release reads it. */
const GOLDEN =
  '424c4d540126000000424c4d59010100010000000000000000300000000008000000000000b1976e391fe4bbb35fe3' +
  '424c4d5901010001000000000000000010000000000300000000000018510ac330fd';

test('TreeSummary: the same keys give the golden bytes, in both kernels', () => {
  for (const kernel of ['javascript', 'wasm'] as const) {
    useKernel(kernel);
    const bytes = new ReconciliationTree(['dog', 'cat', 'bee', 'ant']).summary({ bitsPerKey: 16 }).encode();
    expect([...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')).toBe(GOLDEN);
  }
  useKernel('auto');
});

test('TreeSummary: every strict prefix, and every longer message, is refused', () => {
  for (let length = 0; length < message.length; length++)
    expect(errorOf(message.subarray(0, length)), `${length} bytes`).not.toBe(null);
  expect(errorOf(Uint8Array.of(...message, 0))).not.toBe(null);
});

test('TreeSummary: every flipped bit is refused', () => {
  for (let bit = 0; bit < 8 * message.length; bit++) {
    const flipped = message.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    expect(errorOf(flipped), `bit ${bit}`).not.toBe(null);
  }
});

test('TreeSummary: random and mutated bytes are refused, or are a summary', () => {
  const random = new Random(7);
  for (let round = 0; round < withEffort(3000); round++) {
    const bytes = round % 2 === 0 ? random.bytes(random.below(80)) : message.slice();
    for (let n = random.below(5); n > 0 && bytes.length > 0; n--)
      bytes[random.below(bytes.length)] = random.pick([0, 1, 127, 128, 255, random.bits() & 255]);
    errorOf(bytes);
  }
});

test('TreeSummary: sizes, limits, versions and seeds', () => {
  const declared = message.slice();
  declared.set([255, 255, 255, 255], 5); // a first frame of 4 GiB
  expect(() => TreeSummary.decode(declared)).toThrow(
    `Cannot reconcile: expected 4294967304 bytes or more, got ${message.length} (tree summary)`,
  );
  expect(() => TreeSummary.decode(message, { maxBytes: 50 })).toThrow(/at most 50 bytes, got/);
  const later = message.slice();
  later[4] = 2;
  expect(errorOf(later)).toBe('ReconcileError version');
  expect(errorOf(new Uint8Array(20))).toBe('ReconcileError malformed');
  const seeded = new ReconciliationTree(['ant'], { seed: 3 }).summary().encode();
  const first = new DataView(message.buffer).getUint32(5, true);
  const second = new DataView(seeded.buffer).getUint32(5, true);
  const mixed = Uint8Array.of(...message.subarray(0, 9 + first), ...seeded.subarray(9 + second));
  expect(() => TreeSummary.decode(mixed)).toThrow(/expected two filters with one seed, got forge64/);
  const key = new SecretKey(new Uint8Array(16).fill(1));
  const keyed = new ReconciliationTree(['ant'], { key });
  expect(() => TreeSummary.decode(keyed.summary().encode())).toThrow(FrameError);
  const opened = TreeSummary.decode(keyed.summary({ bitsPerKey: 64 }).encode(), { key });
  expect(keyed.surelyMissing(opened).keys).toEqual([]);
});
