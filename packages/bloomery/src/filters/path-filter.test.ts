import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectUniform, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { FrameError } from '../frames/envelope.ts';
import { SecretKey } from '../hashing/secret-key.ts';
import { hashKey } from '../kernel/batches/hash-key.ts';
import { pathAlarmRate } from '../math/paths/path-alarm.ts';
import { PathFilter } from './path-filter.ts';

const HEAD = 8;

test('PathFilter notices every loop, at the latest at visit t + L + r', () => {
  const random = new Random(1);
  for (let round = 0; round < withEffort(2000); round++) {
    const bits = 8 * (1 + random.below(40));
    const hashes = 1 + random.below(Math.min(bits, 64));
    const repeats = 1 + random.below(4);
    const [tail, length] = [random.below(8), 1 + random.below(8)];
    const filter = new PathFilter({ bits, hashes, repeats, salt: random.below(65536) });
    let visits = 0;
    for (let stopped = false; !stopped; visits++) {
      const node = visits < tail ? visits : tail + ((visits - tail) % length);
      stopped = filter.visit(`${round}/${node}`);
    }
    expect(visits).toBeLessThanOrEqual(tail + length + repeats);
    expect(filter.hops).toBe(visits);
  }
});

test('PathFilter raises false alarms with the exact probability', () => {
  const random = new Random(2);
  const trials = withEffort(1500);
  for (const [bits, hashes] of [
    [32, 2],
    [64, 4],
    [128, 6],
    [256, 6],
    [256, 8],
    [256, 12],
  ] as const) {
    for (const repeats of [1, 2]) {
      const alarms = new Map([4, 8, 16, 32].map((hops) => [hops, 0]));
      for (let trial = 0; trial < trials; trial++) {
        const salt = random.below(65536);
        const at = firstAlarm(new PathFilter({ bits, hashes, repeats, salt }), random, 32);
        for (const [hops, count] of alarms) if (at <= hops) alarms.set(hops, count + 1);
      }
      for (const [hops, count] of alarms) {
        const what = `${bits} bits, ${hashes} per node, ${hops} hops, ${repeats} repeats`;
        expectBinomial(count, trials, pathAlarmRate(bits, hashes, hops, repeats), what);
      }
    }
  }
});

test('salt makes the alarm of one path random, so that a second packet gets through', () => {
  const nodes = Array.from({ length: 8 }, (_, i) => hashKey(`router-${i}`));
  const trials = withEffort(6000, 3000);
  let alarms = 0;
  let twice = 0;
  let last = false;
  for (let salt = 0; salt < trials; salt++) {
    const filter = new PathFilter({ bits: 32, hashes: 2, salt: salt % 65536 });
    const alarm = nodes.some((node) => filter.visitHash(node));
    if (alarm) alarms++;
    if (alarm && last) twice++;
    last = alarm;
  }
  const rate = pathAlarmRate(32, 2, 8);
  expectBinomial(alarms, trials, rate, 'alarms of one path over salts');
  expectBinomial(twice, trials - 1, rate * rate, 'alarms of two salts in a row');
});

test('PathFilter sets every subset of bits with the same probability', () => {
  const counts = new Map<string, number>();
  for (let node = 0; node < 28_000; node++) {
    const filter = new PathFilter({ bits: 8, hashes: 2, salt: node & 3 });
    filter.visit(node);
    const set = String(filter.encode()[HEAD]);
    counts.set(set, (counts.get(set) ?? 0) + 1);
  }
  expect(counts.size).toBe(28);
  expectUniform([...counts.values()], 'subsets of 2 bits of 8');
});

test('PathFilter sets the bits that docs/spec/path-filter.md describes', () => {
  const random = new Random(3);
  for (let round = 0; round < withEffort(500); round++) {
    const bits = 8 * (1 + random.below(255));
    const hashes = 1 + random.below(Math.min(bits, 64));
    const salt = random.below(65536);
    const seed = random.below(1000);
    const filter = new PathFilter({ bits, hashes, salt, seed });
    const expected = new Set<number>();
    for (const name of ['a', 'b', 'c']) {
      filter.visit(name);
      for (const bit of bitsBySpecification(hashKey(name, { seed }), { bits, hashes, salt }))
        expected.add(bit);
    }
    const found = [...filter.encode().subarray(HEAD)].flatMap((byte, i) =>
      Array.from({ length: 8 }, (_, b) => b)
        .filter((b) => (byte >> b) & 1)
        .map((b) => 8 * i + b),
    );
    expect(found).toEqual([...expected].sort((a, b) => a - b));
  }
});

test('PathFilter has the bytes that docs/spec/path-filter.md prints', () => {
  const filter = new PathFilter({ bits: 64, hashes: 4, repeats: 2, salt: 0x1234 });
  expect(hex(filter.encode())).toBe('01 08 04 20 00 00 34 12 00 00 00 00 00 00 00 00');
  expect(['r1', 'r2', 'r3', 'r1', 'r2'].map((node) => filter.visit(node))).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
  const again = new PathFilter({ bits: 64, hashes: 4, repeats: 2, salt: 0x1234 });
  const steps = ['r1', 'r2', 'r3', 'r1'].map((node) => {
    again.visit(node);
    return hex(again.encode());
  });
  expect(steps).toEqual(GOLDEN);
});

test('PathFilter.at changes the bytes of the packet in place, and nothing behind them', () => {
  const filter = new PathFilter({ bits: 64, hashes: 4, salt: 7 });
  const packet = new Uint8Array(40).fill(0xaa);
  packet.set(filter.encode());
  const inPlace = PathFilter.at(packet);
  expect(inPlace.byteLength).toBe(16);
  expect(inPlace.visit('r1')).toBe(filter.visit('r1'));
  expect(packet.subarray(0, 16)).toEqual(filter.encode());
  expect(packet.subarray(16)).toEqual(new Uint8Array(24).fill(0xaa));
  expect(PathFilter.at(packet).hops).toBe(1);
  expect(String(inPlace)).toBe('PathFilter(64 bits, 4 per node, alarm after 1, 1 hops, forge64/0)');
});

test('has asks without recording, and copy is independent', () => {
  const filter = new PathFilter({ bits: 256, hashes: 8 });
  filter.visit('r1');
  const before = filter.encode();
  expect([filter.has('r1'), filter.has('r2')]).toEqual([true, false]);
  expect(filter.encode()).toEqual(before);
  const copy = filter.copy();
  copy.visit('r2');
  expect(filter.encode()).toEqual(before);
  expect([copy.has('r2'), copy.hops, filter.hops]).toEqual([true, 2, 1]);
});

test('a secret key hides the nodes from those who know their names', () => {
  const key = new SecretKey(new Uint8Array(16).fill(9));
  const filter = new PathFilter({ bits: 256, hashes: 8, key });
  filter.visit('r1');
  expect(PathFilter.at(filter.encode(), { key }).has('r1')).toBe(true);
  expect(PathFilter.at(filter.encode()).has('r1')).toBe(false);
  expect(() => filter.visitHash(hashKey('r1'))).toThrow('Cannot use a hash');
});

test('forPath takes the plan for the length of the path', () => {
  const filter = PathFilter.forPath({ hops: 16, falseAlarmRate: 1e-3, repeats: 2, salt: 5 });
  expect(pathAlarmRate(filter.bits, filter.hashes, 16, 2)).toBeLessThanOrEqual(1e-3);
  expect([filter.repeats, filter.salt]).toEqual([2, 5]);
  expect(() => PathFilter.forPath({ hops: 16, falseAlarmRate: 0 })).toThrow('Cannot use falseAlarmRate');
});

test('visit number 256 is an alarm, because the header cannot count it', () => {
  const filter = new PathFilter({ bits: 2040, hashes: 1, repeats: 15 });
  // 15 repeats in a row are rare among new nodes, and the count of visits ends first.
  const results = Array.from({ length: 256 }, (_, node) => filter.visit(node));
  expect(results.indexOf(true)).toBe(255);
  expect(filter.hops).toBe(255);
});

test('the constructor refuses what no header can say', () => {
  expect(() => new PathFilter({ bits: 12, hashes: 2 })).toThrow('a multiple of 8');
  expect(() => new PathFilter({ bits: 2048, hashes: 2 })).toThrow('Cannot use bits');
  expect(() => new PathFilter({ bits: 8, hashes: 9 })).toThrow('Cannot use hashes');
  expect(() => new PathFilter({ bits: 64, hashes: 2, repeats: 16 })).toThrow('Cannot use repeats');
  expect(() => new PathFilter({ bits: 64, hashes: 2, salt: 65536 })).toThrow('Cannot use salt');
  expect(() => new PathFilter({ bits: 64, hashes: 2, sallt: 1 } as never)).toThrow("option 'sallt'");
});

test('PathFilter.at refuses every prefix, and damaged bytes with a FrameError or not at all', () => {
  const filter = new PathFilter({ bits: 64, hashes: 4, repeats: 3, salt: 99 });
  for (const node of ['r1', 'r2', 'r1']) filter.visit(node);
  const bytes = filter.encode();
  for (let length = 0; length < bytes.length; length++) {
    expect(() => PathFilter.at(bytes.subarray(0, length))).toThrow(
      expect.objectContaining({ name: 'FrameError', code: 'truncated', offset: length }),
    );
  }
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const damaged = Uint8Array.from(bytes);
    damaged[bit >> 3] ^= 1 << (bit & 7);
    readOrRefuse(damaged);
  }
  const random = new Random(4);
  for (let round = 0; round < withEffort(5000); round++) {
    const noise = random.bytes(random.below(300));
    if (noise.length > 0 && round % 4 > 0) noise[0] = 1;
    readOrRefuse(noise);
  }
  expect(() => PathFilter.at('no bytes' as never)).toThrow(TypeError);
});

/** The visit at which the alarm came, or Infinity. */
function firstAlarm(filter: PathFilter, random: Random, hops: number): number {
  const { scheme } = filter;
  for (let hop = 1; hop <= hops; hop++) {
    if (filter.visitHash({ scheme, low: random.bits() >>> 0, high: random.bits() >>> 0 })) return hop;
  }
  return Number.POSITIVE_INFINITY;
}

/** A packet that is accepted can be visited, and stays readable until the alarm. */
function readOrRefuse(bytes: Uint8Array): void {
  let filter: PathFilter;
  try {
    filter = PathFilter.at(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(FrameError);
    expect((error as FrameError).message).toMatch(
      /^Cannot decode path filter: expected .+, got .+ \(at byte \d+\)$/,
    );
    return;
  }
  for (let node = 0; node < 4; node++) {
    if (filter.visit(node)) return;
    expect(PathFilter.at(bytes).hops).toBe(filter.hops);
  }
}

/** The bits of a node by the words of the specification, in big integers. */
function bitsBySpecification(
  { low, high }: { low: number; high: number },
  { bits, hashes, salt }: { bits: number; hashes: number; salt: number },
): Set<number> {
  const word = (value: bigint) => BigInt.asUintN(32, value);
  const step = BigInt(high) | 1n;
  const taken = new Set<number>();
  let state = word(BigInt(low) + BigInt(salt) * 0x9e3779b1n);
  for (let j = bits - hashes; j < bits; j++) {
    state = word(state + step);
    let z = state ^ (state >> 16n);
    z = word(z * 0x21f0aaadn);
    z ^= z >> 15n;
    z = word(z * 0x735a2d97n);
    z ^= z >> 15n;
    const t = Number((z * BigInt(j + 1)) >> 32n);
    taken.add(taken.has(t) ? j : t);
  }
  return taken;
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

/** A packet at r1, r2, r3 and r1 again; the next visit is the alarm. */
const GOLDEN = [
  '01 08 04 20 01 00 34 12 01 00 00 10 00 08 00 80',
  '01 08 04 20 02 00 34 12 01 00 03 10 10 08 08 80',
  '01 08 04 20 03 00 34 12 41 04 43 10 12 08 08 80',
  '01 08 04 21 04 00 34 12 41 04 43 10 12 08 08 80',
];
