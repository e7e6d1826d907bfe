import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SecretKey,
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';
import { compressFrame, deltaEnds, frameSum, makeDelta } from 'bloomery/wire';
import { describe, expect, it } from 'vitest';
import { bloom, keys, Scratch } from '../conversion-scratch.ts';

const scratch = new Scratch();
const monday = bloom(0, 5000);
const tuesday = bloom(0, 5250);
scratch.put('monday.blm', monday);
scratch.put('tuesday.blm', tuesday);
scratch.put('right.delta', makeDelta(monday.encode(), tuesday.encode()));

describe('delta and apply', () => {
  it('lead from one snapshot to the other, byte for byte', () => {
    const made = scratch.run(['delta', 'monday.blm', 'tuesday.blm', '-o', 'made.delta']);
    expect([made.code, made.stdout, made.stderr]).toEqual([0, '', '']);
    expect(scratch.get('made.delta')).toEqual(makeDelta(monday.encode(), tuesday.encode()));
    const applied = scratch.run(['apply', 'monday.blm', '-', '-o', '-'], scratch.get('made.delta'));
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    expect(applied.bytes).toEqual(tuesday.encode());
  });

  it('count the bits that changed', async () => {
    const changed = tuesday.onesCount() - monday.onesCount();
    const made = JSON.parse(await scratch.ok('delta monday.blm tuesday.blm -o json.delta --json'));
    expect(made).toMatchObject({ output: 'json.delta', changedBits: changed, structure: 'BloomFilter' });
    expect(made.bytes).toBe(scratch.get('json.delta').length);
    // 5 % of the keys are new: a delta is a small part of the filter (compressed IV).
    expect(made.bytes).toBeLessThan(made.plainBytes / 4);
    const hex = (sum: bigint) => sum.toString(16).padStart(16, '0');
    expect(made.base).toBe(hex(frameSum(monday.encode())));
    expect(made.result).toBe(hex(frameSum(tuesday.encode())));
    const applied = JSON.parse(await scratch.ok('apply monday.blm json.delta -o json.blm --json'));
    expect(applied).toMatchObject({ changedBits: changed, deltaBytes: made.bytes, result: made.result });
  });

  it('take coded files, blocked filters, keyed filters, and --fast', async () => {
    scratch.put('monday.blmz', compressFrame(monday.encode()));
    scratch.put('tuesday.blmz', compressFrame(tuesday.encode()));
    await scratch.ok('delta monday.blmz tuesday.blmz -o coded.delta --fast');
    expect(deltaEnds(scratch.get('coded.delta')).base).toBe(frameSum(monday.encode()));
    await scratch.ok('apply monday.blmz coded.delta -o plain.blm');
    expect(scratch.get('plain.blm')).toEqual(tuesday.encode());

    const key = new SecretKey(new Uint8Array(16).fill(1));
    const makers = {
      blocked: () => new BlockedBloomFilter({ blocks: 50, hashes: 5 }),
      keyed: () => new BloomFilter({ bits: 5000, hashes: 5, key }),
    };
    for (const [name, make] of Object.entries(makers)) {
      const [before, after] = [make(), make()];
      before.addMany(keys(0, 300));
      after.addMany(keys(100, 400));
      scratch.put(`${name}-1.blm`, before);
      scratch.put(`${name}-2.blm`, after);
      await scratch.ok(`delta ${name}-1.blm ${name}-2.blm -o ${name}.delta`);
      await scratch.ok(`apply ${name}-1.blm ${name}.delta -o ${name}-3.blm`);
      expect(scratch.get(`${name}-3.blm`), name).toEqual(after.encode());
    }
  });

  it('take every structure', async () => {
    for (const [name, before, after] of everyStructure()) {
      scratch.put(`${name}-a.blm`, before);
      scratch.put(`${name}-b.blm`, after);
      const made = JSON.parse(await scratch.ok(`delta ${name}-a.blm ${name}-b.blm -o ${name}.delta --json`));
      expect(made.structure).toBe(before.constructor.name);
      expect(made.changedBits).toBeUndefined();
      const { stderr } = await scratch.line(`apply ${name}-a.blm ${name}.delta -o ${name}-c.blm`);
      expect(stderr).toBe('');
      expect(scratch.get(`${name}-c.blm`), name).toEqual(after.encode());
    }
  });

  it('update a file in its place', async () => {
    scratch.put('peer.blm', monday);
    await scratch.ok('apply peer.blm right.delta --force -o peer.blm');
    expect(scratch.get('peer.blm')).toEqual(tuesday.encode());
  });
});

/** Pairs of snapshots of the structures whose payload is not one bit array. */
function everyStructure() {
  const size = { capacity: 300, falsePositiveRate: 0.01 };
  const attenuated = (count: number) => {
    const filter = AttenuatedBloomFilter.forCapacity({ ...size, levels: 2 });
    filter.addMany(keys(0, count), 1);
    return filter;
  };
  const pair = <F extends { addMany(keys: string[]): unknown; encode(): Uint8Array }>(make: () => F) => {
    const [before, after] = [make(), make()];
    before.addMany(keys(0, 300));
    after.addMany(keys(0, 330));
    return [before, after] as const;
  };
  return [
    ['counting', ...pair(() => CountingBloomFilter.forCapacity(size))],
    ['spectral', ...pair(() => SpectralBloomFilter.forCapacity(size))],
    ['count-min', ...pair(() => CountMinSketch.forError({ epsilon: 0.01, delta: 0.01 }))],
    ['heavy', ...pair(() => HeavyHitters.forThreshold({ threshold: 0.01, epsilon: 0.005, delta: 0.1 }))],
    ['hash-list', ...pair(() => HashList.forCapacity(size))],
    ['scalable', ...pair(() => new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 100 }))],
    ['rotating', ...pair(() => new RotatingBloomFilter({ ...size, generations: 3, rotateWhenFull: true }))],
    ['attenuated', attenuated(250), attenuated(300)],
    ['static', StaticFilter.from(keys(0, 300)), StaticFilter.from(keys(0, 330))],
    [
      'bloomier',
      BloomierFilter.fromColumns(keys(0, 300), new Array(300).fill(1), { valueBits: 2 }),
      BloomierFilter.fromColumns(keys(0, 300), new Array(300).fill(2), { valueBits: 2 }),
    ],
  ] as const;
}

describe('what is refused', () => {
  scratch.put('other.blm', bloom(0, 100));
  scratch.put('seed.blm', bloom(0, 100, { seed: 5 }));
  scratch.put('half.blm', monday.halve());
  scratch.put('blocked.blm', new BlockedBloomFilter({ blocks: 50, hashes: 5 }));
  scratch.put('counting.blm', new CountingBloomFilter({ counters: 100, hashes: 3 }));
  scratch.put('counters.blm', new CountingBloomFilter({ counters: 101, hashes: 3 }));
  scratch.put('capacity.blm', new BloomFilter({ bits: monday.bits, hashes: monday.hashes, capacity: 5 }));
  scratch.put('words.txt', 'apple\n');
  scratch.put('none', '');
  const right = scratch.get('right.delta');
  scratch.put('cut.delta', right.subarray(0, 200));
  scratch.put('flipped.delta', right.with(100, right[100] ^ 1));
  scratch.put('cut.blm', monday.encode().subarray(0, 3000));
  scratch.put('flipped.blm', monday.encode().with(700, monday.encode()[700] ^ 1));
  const sum = (bytes: Uint8Array) => frameSum(bytes).toString(16).padStart(16, '0');
  it.each([
    [
      'apply other.blm right.delta -o x',
      new RegExp(
        `right\\.delta starts from snapshot ${sum(monday.encode())}, other\\.blm is ${sum(bloom(0, 100).encode())}`,
      ),
    ],
    [
      'apply tuesday.blm right.delta -o x',
      new RegExp(`has been applied to tuesday\\.blm already .both end at snapshot ${sum(tuesday.encode())}`),
    ],
    ['apply right.delta monday.blm -o x', /right\.delta is a delta, not a filter/],
    [
      'apply monday.blm tuesday.blm -o x',
      /tuesday\.blm is a filter, not a delta; the order is: bloomery apply OLD DELTA/,
    ],
    ['apply monday.blm words.txt -o x', /words\.txt is not a delta/],
    ['apply monday.blm none -o x', /none is empty/],
    ['apply monday.blm cut.delta -o x', /cut\.delta: the file was damaged/],
    ['apply monday.blm flipped.delta -o x', /flipped\.delta: the file was damaged/],
    ['apply flipped.blm right.delta -o x', /flipped\.blm: the file was damaged/],
    ['apply cut.blm right.delta -o x', /cut\.blm: the file is cut off/],
    ['apply words.txt right.delta -o x', /words\.txt is not a filter made by bloomery/],
    [
      'delta monday.blm half.blm -o x',
      /same parameters on both sides: monday\.blm is a BloomFilter\(95,936 bits, 7 hashes, classic, capacity 10,000, seed 0\), half\.blm a BloomFilter\(47,968 bits/,
    ],
    ['delta monday.blm seed.blm -o x', /seed 0.*seed 5/],
    ['delta monday.blm capacity.blm -o x', /capacity 10,000.*capacity 5,/],
    [
      'delta monday.blm blocked.blm -o x',
      /BlockedBloomFilter\(50 blocks, 5 hashes, blocked, no capacity, seed 0\)/,
    ],
    [
      'delta counting.blm counters.blm -o x',
      /counting\.blm is a CountingBloomFilter\(layout classic, counters 100, hashes 3, counterBits 4, seed 0\), counters\.blm a CountingBloomFilter\(layout classic, counters 101/,
    ],
    ['delta cut.blm monday.blm -o x', /cut\.blm: the file is cut off/],
    ['delta monday.blm flipped.blm -o x', /flipped\.blm: the file was damaged/],
    ['apply monday.blm . -o x', /\. is a directory/],
    ['delta . monday.blm -o x', /\. is a directory/],
    ['delta monday.blm gone.blm -o x', /gone\.blm: no such file/],
    ['delta - - -o x', /only one of the files/],
  ])('%s', async (line, message) => {
    const { code, stdout, stderr } = await scratch.line(line);
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect([code, stdout]).toEqual([2, '']);
    expect(scratch.has('x')).toBe(false);
  });
});
