import { withEffort } from '@bloomery/testkit/effort';
import { FUSE8_C, FUSE8_GO, FUSE16_C } from '@bloomery/testkit/golden/foreign-files';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { BinaryFuseFile } from './binary-fuse.ts';
import { firstCell } from './binary-fuse-build.ts';
import type { FormatError } from './shared/format-error.ts';

const key = (i: number) => 1_000_003 * i + 7;
const common = {
  format: 'binary-fuse',
  headerLength: 28,
  decode: BinaryFuseFile.decode,
  absent: (i: number) => 2 ** 40 + 17 * i,
  probe: 5,
} as const;

for (const [name, file, layout] of [
  ['Go', FUSE8_GO, 'go'],
  ['C', FUSE8_C, 'c'],
] as const) {
  describe(name, () => {
    foreignContract<number | bigint>({
      ...common,
      name: `binary fuse, ${name}`,
      file,
      keys: Array.from({ length: 1000 }, (_, i) => key(i)),
      bitBytes: 1408,
    });

    test('says what the file says', () => {
      const filter = BinaryFuseFile.decode(file);
      expect([filter.layout, filter.fingerprintBits, filter.bits]).toEqual([layout, 8, 8 * 1408]);
      expect(filter.size).toBe(layout === 'c' ? 1000 : undefined);
      expect(filter.has(BigInt(key(999)))).toBe(true);
    });
  });
}

describe('16 bits from C, with the four bytes too many', () => {
  foreignContract<number | bigint>({
    ...common,
    name: 'binary fuse 16, C',
    file: FUSE16_C,
    keys: Array.from({ length: 100 }, (_, i) => key(i)),
    bitBytes: 2 * 192 + 4,
    // Without the tail it is a whole file as well; and half of it looks like one of 8 bits.
    wholePrefix: (length) => length === FUSE16_C.length - 4 || length === 28 + 192,
  });

  test('a width that is asked for is insisted on', () => {
    expect(BinaryFuseFile.decode(FUSE16_C, { fingerprintBits: 16 }).fingerprintBits).toBe(16);
    const half = () => BinaryFuseFile.decode(FUSE16_C.subarray(0, 28 + 192), { fingerprintBits: 16 });
    expect(half).toThrow(/expected fingerprints of 16 bits, got 8/);
    expect(() => BinaryFuseFile.decode(FUSE16_C, { fingerprintBits: 12 as never })).toThrow(
      'Cannot use fingerprintBits: expected 8, 16 or 32, got 12',
    );
  });
});

test('16 bits in the layout of Go: the same cells behind the other header', () => {
  const bytes = FUSE16_C.slice(0, -4);
  const view = new DataView(bytes.buffer);
  view.setUint32(8, 64, true);
  view.setUint32(12, 63, true);
  const filter = BinaryFuseFile.decode(bytes);
  expect([filter.layout, filter.fingerprintBits]).toEqual(['go', 16]);
  for (let i = 0; i < 100; i++) expect(filter.has(key(i))).toBe(true);
  expect(filter.encode()).toEqual(bytes);
});

describe('from', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, i) => key(i));

  test('the files that the programs make of these keys, in any order and with repetitions', () => {
    const go = BinaryFuseFile.from(keys(1000), { layout: 'go' });
    expect(go.encode()).toEqual(FUSE8_GO);
    const c = BinaryFuseFile.from([...keys(1000).reverse(), key(5), BigInt(key(7))], { layout: 'c' });
    expect(c.encode()).toEqual(FUSE8_C);
    expect(c.size).toBe(1000);
    const wide = BinaryFuseFile.from(keys(100), { layout: 'c', fingerprintBits: 16 });
    expect(wide.encode()).toEqual(FUSE16_C.slice(0, -4));
  });

  test.each([
    ['go', 8],
    ['go', 16],
    ['go', 32],
    ['c', 8],
    ['c', 16],
  ] as const)(
    '%s, %i bits: every key of sets of all small sizes, and the rate',
    (layout, fingerprintBits) => {
      const random = new Random(31);
      for (const size of [...Array(40).keys(), 333, 2000]) {
        const set = Array.from(
          { length: size },
          () => (BigInt(random.bits() >>> 0) << 32n) | BigInt(random.bits() >>> 0),
        );
        const filter = BinaryFuseFile.decode(BinaryFuseFile.from(set, { layout, fingerprintBits }).encode());
        expect(set.filter((one) => !filter.has(one))).toEqual([]);
        // From 333 on, because fewer cells leave many non-member keys with three zero cells.
        if (size < 2000 || fingerprintBits === 32) continue;
        let found = 0;
        for (let i = 0; i < 20_000; i++) if (filter.has(random.bits() >>> 0)) found++;
        expectBinomial(found, 20_000, 2 ** -fingerprintBits, `${layout} ${fingerprintBits}`);
      }
    },
  );

  test('the sizes for which the program in C fails for a third of all sets', () => {
    // FastFilter/xor_singleheader#77
    for (let set = 0; set < 10; set++) {
      const members = Array.from({ length: 11_510 }, (_, i) => 11_510 * set + i);
      const filter = BinaryFuseFile.from(members, { layout: 'c' });
      expect(members.filter((one) => !filter.has(one))).toEqual([]);
    }
  });

  test('keys and options that make no sense', () => {
    const from = (keys: unknown, options: object) => () =>
      BinaryFuseFile.from(keys as never, options as never);
    expect(from(['x'], { layout: 'go' })).toThrow(
      'Cannot use the key: expected a 64-bit integer, got string',
    );
    expect(from([2n ** 64n], { layout: 'go' })).toThrow(/expected a 64-bit integer/);
    expect(from([], {})).toThrow(/Cannot use layout: expected 'go' or 'c', got undefined/);
    expect(from([], { layout: 'c', fingerprintBits: 32 })).toThrow(
      'Cannot use fingerprintBits: expected 8 or 16, got 32',
    );
    expect(from([-1], { layout: 'go' })().has(2n ** 64n - 1n)).toBe(true);
  });
});

test('the cells of a key, against the definition in BigInt', () => {
  const random = new Random(12);
  const bytes = Uint8Array.from(FUSE8_GO);
  for (let i = 28; i < bytes.length; i++) bytes[i] = random.bits();
  const filter = BinaryFuseFile.decode(bytes);
  const wrap = (x: bigint) => BigInt.asUintN(64, x);
  const reference = (x: bigint) => {
    let h = wrap(x + filter.seed);
    h = wrap((h ^ (h >> 33n)) * 0xff51afd7ed558ccdn);
    h = wrap((h ^ (h >> 33n)) * 0xc4ceb9fe1a85ec53n);
    h ^= h >> 33n;
    const h0 = (h * 1152n) >> 64n;
    const h1 = (h0 + 128n) ^ ((h >> 18n) & 127n);
    const h2 = (h0 + 256n) ^ (h & 127n);
    const cell = (at: bigint) => bytes[28 + Number(at)];
    return Number((h ^ (h >> 32n)) & 255n) === (cell(h0) ^ cell(h1) ^ cell(h2));
  };
  let yes = 0;
  for (let i = 0; i < withEffort(20_000, 5000); i++) {
    const x = (BigInt(random.bits() >>> 0) << 32n) | BigInt(random.bits() >>> 0);
    expect(filter.has(x)).toBe(reference(x));
    if (reference(x)) yes++;
  }
  expect(yes).toBeGreaterThan(20);
});

test('the first cell is exact for ranges of up to 2^32 - 1', () => {
  const random = new Random(13);
  for (let i = 0; i < 10_000; i++) {
    const [low, high, range] = [random.bits(), random.bits(), random.bits() >>> random.below(32)];
    const hash = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
    if (BigInt(firstCell(low, high, range)) !== (hash * BigInt(range)) >> 64n) {
      expect.fail(`${hash} · ${range}: got ${firstCell(low, high, range)}`);
    }
  }
});

test('keys are 64-bit integers', () => {
  const filter = BinaryFuseFile.decode(FUSE8_C);
  expect(filter.has(-1)).toBe(filter.has(2n ** 64n - 1n));
  expect(filter.has(-1)).toBe(filter.has(-1n));
  for (const wrong of [0.5, 2 ** 53, 2n ** 64n, 'x', null]) {
    expect(() => filter.has(wrong as never)).toThrow(/Cannot use the key: expected a 64-bit integer, got/);
  }
});

test('every cell that a key can lead to exists: headers that would break this are refused', () => {
  const code = (fields: readonly number[], length: number) => {
    const bytes = new Uint8Array(28 + length);
    for (const [i, field] of fields.entries()) new DataView(bytes.buffer).setUint32(8 + 4 * i, field, true);
    return (errorOf(() => BinaryFuseFile.decode(bytes)) as FormatError)?.code;
  };
  const go = (length: number, segments: number, cells: number) => [
    length,
    length - 1,
    segments,
    length * segments,
    cells,
  ];
  const c = (length: number, segments: number, cells: number) => [
    7,
    length,
    segments,
    length * segments,
    cells,
  ];
  for (const layout of [go, c]) {
    expect(code(layout(4, 2, 16), 16)).toBeUndefined();
    expect(code(layout(3, 2, 12), 12)).toBe('parameters'); // no power of two
    expect(code(layout(4, 0, 8), 8)).toBe('parameters'); // no segments
    expect(code(layout(4, 2, 20), 20)).toBe('parameters'); // more cells than segments make
    expect(code(layout(4, 2, 12), 12)).toBe('parameters'); // fewer
    expect(code(layout(0, 2, 0), 0)).toBe('parameters');
    expect(code(layout(4, 2, 16), 15)).toBe('truncated');
    expect(code(layout(4, 2, 16), 17)).toBe('payload');
    expect(code(layout(4, 2, 16), 65)).toBe('trailing');
  }
  expect(code(go(4, 2, 16), 64)).toBeUndefined(); // 32 bits
  expect(code(c(4, 2, 16), 64)).toBe('payload'); // which C has not
  expect(code(go(4, 2, 16), 36)).toBe('payload'); // four bytes too many, which only C writes
  expect(code(go(4, 2 ** 30 + 2, 16), 16)).toBe('parameters'); // 2^32 + 8 cells are no 8
});

test('sizes that contradict each other', () => {
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(FUSE8_C);
    bytes[at] = value;
    return errorOf(() => BinaryFuseFile.decode(bytes)) as FormatError;
  };
  for (const at of [12, 16, 20, 24]) expect(changed(at, 3).code).toBe('parameters');
  expect(changed(12, 3).message).toMatch(
    /expected segments of a power of two, and the cells that they make, got 1000, 3, 9/,
  );
});
