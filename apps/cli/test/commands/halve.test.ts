import { BlockedBloomFilter, BloomFilter, CountingBloomFilter, StaticFilter } from 'bloomery';
import { GuavaFilter } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { describe, expect, it } from 'vitest';
import { bloom, keys, Scratch } from '../conversion-scratch.ts';

const scratch = new Scratch();
const big = bloom(0, 2000);
scratch.put('big.blm', big);

describe('halve', () => {
  it('writes a filter of half the bits with the same keys', async () => {
    const { code, stdout, stderr } = scratch.run(['halve', 'big.blm', '-o', 'half.blm']);
    expect([code, stdout, stderr]).toEqual([0, '', '']);
    expect(scratch.get('half.blm')).toEqual(big.halve().encode());
    expect(BloomFilter.decode(scratch.get('half.blm')).hasMany(keys(0, 2000)).includes(0)).toBe(false);
  });

  it('halves several times, and reports the rates', async () => {
    const report = JSON.parse(await scratch.ok('halve big.blm --times 3 -o eighth.blm --json'));
    expect(scratch.get('eighth.blm')).toEqual(big.halve(3).encode());
    expect(report).toMatchObject({ output: 'eighth.blm', times: 3, inputBytes: big.encode().length });
    // The same formula on the same bits, so the difference is rounding, below 5e-13.
    expect(report.estimatedFalsePositiveRateBefore).toBeCloseTo(big.estimatedFalsePositiveRate(), 12);
    expect(report.estimatedFalsePositiveRate).toBeCloseTo(big.halve(3).estimatedFalsePositiveRate(), 12);
  });

  it('folds blocked and Parquet filters', async () => {
    const blocked = new BlockedBloomFilter({ blocks: 64, hashes: 6 });
    blocked.addMany(keys(0, 1000));
    const parquet = ParquetFilter.create({ capacity: 1000 });
    for (const key of keys(0, 1000)) parquet.add(key);
    scratch.put('blocked.blm', blocked);
    scratch.put('column.parquet', parquet);
    const outcomes = await scratch.lines([
      'halve blocked.blm --times 2 -o b.blm',
      'halve column.parquet -o p.parquet',
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
    expect(scratch.get('b.blm')).toEqual(blocked.fold(2).encode());
    expect(scratch.get('p.parquet')).toEqual(new ParquetFilter(parquet.filter.fold()).encode());
  });

  it('says so when nothing but "maybe" is left', async () => {
    const full = new BloomFilter({ bits: 64, hashes: 4 });
    full.addMany(keys(0, 200));
    scratch.put('full.blm', full);
    const { code, stderr } = await scratch.line('halve full.blm -o fuller.blm');
    expect(code).toBe(0);
    expect(stderr).toMatch(/fuller\.blm is full and says "maybe" to every key/);
  });
});

describe('what does not halve', () => {
  scratch.put('odd.blm', new BloomFilter({ bits: 9586, hashes: 7 }));
  scratch.put('sliced.blm', new BloomFilter({ bits: 300, hashes: 4, layout: 'partitioned' }));
  scratch.put('blocks.blm', new BlockedBloomFilter({ blocks: 7, hashes: 4 }));
  scratch.put('counting.blm', new CountingBloomFilter({ counters: 64, hashes: 4 }));
  scratch.put('static.blm', StaticFilter.from(keys(0, 10)));
  scratch.put('g.guava', GuavaFilter.create({ capacity: 10, funnel: 'utf8' }));
  const cases: [line: string, message: RegExp][] = [
    [
      'halve odd.blm --times 3 -o x',
      /odd\.blm has 9,586 bits, which halve once, not 3 times; multiples of 8 do, such as 9,584 or 9,592: bloomery build --halvings 3/,
    ],
    [
      'halve sliced.blm -o x',
      /75 bits in each of 4 slices, which halve not at all, not once; multiples of 2 do, such as 74 or 76/,
    ],
    ['halve blocks.blm -o x', /7 blocks/],
    [
      'halve counting.blm -o x',
      /CountingBloomFilter\(.*does not halve; first make a BloomFilter of it: bloomery convert counting\.blm --to bloom/,
    ],
    ['halve static.blm -o x', /StaticFilter\(.*BloomFilter and BlockedBloomFilter do/],
    ['halve g.guava -o x', /Parquet filters are the only foreign ones that do/],
    ['halve big.blm --times 40 -o x', /--times must be at most 36, got 40/],
    ['halve big.blm --times 0 -o x', /Expected a whole number of at least 1/],
    ['halve big.blm', /-o, --output/],
    ['halve . -o x', /\. is a directory/],
    ['halve none.blm -o x', /none\.blm: no such file/],
  ];
  it.each(cases)('%s', async (line, message) => {
    const outcome = await scratch.line(line);
    expect(outcome.stderr).toMatch(message);
    expect([outcome.code, outcome.stdout]).toEqual([2, '']);
    expect(scratch.has('x')).toBe(false);
  });
});
