import {
  BlockedBloomFilter,
  BloomFilter,
  CountingBloomFilter,
  CountMinSketch,
  SecretKey,
  StaticFilter,
} from 'bloomery';
import { compressFrame, expandFrame, fitMessage } from 'bloomery/wire';
import { describe, expect, it } from 'vitest';
import { bloom, keys, Scratch } from '../conversion-scratch.ts';

const scratch = new Scratch();
const sparse = new BloomFilter({ bits: 140_000, hashes: 2 });
sparse.addMany(keys(0, 10_000));
scratch.put('sparse.blm', sparse);
const plain = bloom(0, 6000);
scratch.put('plain.blm', plain);

describe('encode', () => {
  it('writes a coded frame, silently', () => {
    const { code, stdout, stderr } = scratch.run(['encode', 'sparse.blm', '-o', 'sparse.blmz']);
    expect([code, stdout, stderr]).toEqual([0, '', '']);
    expect(scratch.get('sparse.blmz')).toEqual(compressFrame(sparse.encode()));
  });

  it('is a filter for a pipe', () => {
    const { code, bytes } = scratch.run(['encode', '-', '--fast', '-o', '-'], sparse.encode());
    expect(code).toBe(0);
    expect(bytes).toEqual(compressFrame(sparse.encode(), { effort: 'fast' }));
  });

  it('reports sizes', async () => {
    const report = JSON.parse(await scratch.ok('encode sparse.blm -o r.blmz --json'));
    const bytes = compressFrame(sparse.encode()).length;
    expect(report).toEqual({
      output: 'r.blmz',
      bytes,
      structure: 'BloomFilter',
      coded: true,
      inputBytes: sparse.encode().length,
      plainBytes: sparse.encode().length,
    });
    // compressed, table I: 14 bits and 2 hashes a key take 7.92 bits per key.
    expect(bytes).toBeLessThan(10_000);
  });

  it('codes blocked and counting filters, and codes coded ones again', async () => {
    const blocked = new BlockedBloomFilter({ blocks: 40, hashes: 2 });
    const counting = CountingBloomFilter.forCapacity({ capacity: 500, falsePositiveRate: 0.01 });
    blocked.addMany(keys(0, 500));
    counting.addMany(keys(0, 500));
    scratch.put('blocked.blm', blocked);
    scratch.put('counting.blm', counting);
    scratch.put('fast.blmz', compressFrame(sparse.encode(), { effort: 'fast' }));
    for (const line of ['blocked.blm -o b.z', 'counting.blm -o c.z', 'fast.blmz -o f.z']) {
      await scratch.ok(`encode ${line}`);
    }
    expect(scratch.get('b.z')).toEqual(compressFrame(blocked.encode()));
    expect(scratch.get('c.z')).toEqual(compressFrame(counting.encode()));
    expect(scratch.get('f.z')).toEqual(compressFrame(sparse.encode()));
  });

  it('codes sketches and static filters', async () => {
    const sketch = new CountMinSketch({ width: 400, depth: 3 });
    sketch.addMany(keys(0, 500));
    scratch.put('sketch.blm', sketch);
    // A fuse table has unused slots, which are not sent. Smaller sets are bands without any.
    scratch.put('slots.blm', StaticFilter.from(keys(0, 12_000)));
    await scratch.ok('encode sketch.blm -o s.z');
    await scratch.ok('encode slots.blm -o st.z');
    await scratch.ok('decode s.z -o s.blm');
    expect(scratch.get('s.z')).toEqual(compressFrame(sketch.encode()));
    expect(scratch.get('s.z').length).toBeLessThan(sketch.encode().length / 8);
    expect(scratch.get('s.blm')).toEqual(sketch.encode());
    expect(scratch.get('st.z').length).toBeLessThan(scratch.get('slots.blm').length);
    // Every command reads coded files.
    expect(await scratch.ok('info s.z')).toMatch(/CountMinSketch/);
  });

  it('halves to fit in --max-bytes, and says so', async () => {
    const fitted = fitMessage(plain, { maxBytes: 4000 });
    expect(fitted.halvings).toBeGreaterThan(0);
    const { code, stderr } = await scratch.line('encode plain.blm --max-bytes 4000 -o fit.blmz');
    expect(code).toBe(0);
    expect(scratch.get('fit.blmz')).toEqual(fitted.message);
    expect(stderr).toMatch(
      /^bloomery: warning: plain\.blm was halved 2 times to fit: the false positive rate rises from 0\.0\d+ % to \d+(\.\d+)? %\n$/,
    );
    const report = JSON.parse(
      await scratch.ok('encode plain.blm --max-bytes 4000 --force -o fit.blmz --json'),
    );
    expect(report).toMatchObject({
      maxBytes: 4000,
      halvings: 2,
      saturated: false,
      bytes: fitted.message.length,
    });
    const roomy = JSON.parse(await scratch.ok('encode plain.blm --max-bytes 20k -o roomy.blmz --json'));
    expect(roomy).toMatchObject({ maxBytes: 20_000, halvings: 0, saturated: false });
  });

  it('says "maybe" to everything when nothing fits, with a warning', async () => {
    const odd = new BloomFilter({ bits: 9999, hashes: 7 });
    odd.addMany(keys(0, 1000));
    scratch.put('odd.blm', odd);
    const { code, stderr } = await scratch.line('encode odd.blm --max-bytes 100 -o maybe.blmz');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /odd\.blm fits in 100 bytes in no way; what was written says "maybe" to every key/,
    );
    expect(BloomFilter.decode(expandFrame(scratch.get('maybe.blmz'))).has('anything')).toBe(true);
  });

  it('needs no secret for a keyed filter, but for halving it', async () => {
    const key = new SecretKey(new Uint8Array(16).fill(3));
    scratch.put('secret', new Uint8Array(16).fill(3));
    const keyed = new BloomFilter({ bits: 8192, hashes: 3, key });
    keyed.addMany(keys(0, 1000));
    scratch.put('keyed.blm', keyed);
    await scratch.ok('encode keyed.blm -o keyed.blmz');
    expect(scratch.get('keyed.blmz')).toEqual(compressFrame(keyed.encode()));
    const { code, stderr } = await scratch.line('encode keyed.blm --max-bytes 600 -o k.blmz');
    expect(code).toBe(2);
    expect(stderr).toMatch(/keyed\.blm: .*the filter is keyed; --key-file/);
    await scratch.ok('encode keyed.blm --max-bytes 600 --key-file secret -o k.blmz');
    expect(scratch.get('k.blmz')).toEqual(fitMessage(keyed, { maxBytes: 600 }).message);
  });
});

describe('decode', () => {
  it('gives the plain frame back, bit for bit', () => {
    scratch.put('in.blmz', compressFrame(sparse.encode()));
    const { code, stdout, stderr } = scratch.run(['decode', 'in.blmz', '-o', 'out.blm']);
    expect([code, stdout, stderr]).toEqual([0, '', '']);
    expect(scratch.get('out.blm')).toEqual(sparse.encode());
  });

  it('copies what is plain already', async () => {
    scratch.put('static.blm', StaticFilter.from(keys(0, 100)));
    const report = JSON.parse(await scratch.ok('decode plain.blm -o copy.blm --json'));
    expect(report).toMatchObject({ wasCoded: false, bytes: plain.encode().length });
    expect(scratch.get('copy.blm')).toEqual(plain.encode());
    await scratch.ok('decode static.blm -o static-copy.blm');
    expect(scratch.get('static-copy.blm')).toEqual(scratch.get('static.blm'));
  });
});

describe('bad input', () => {
  scratch.put('whole.blmz', compressFrame(sparse.encode()));
  scratch.put('cut.blm', plain.encode().subarray(0, 5000));
  scratch.put('cut.blmz', compressFrame(sparse.encode()).subarray(0, 5000));
  scratch.put('flipped.blm', plain.encode().with(900, plain.encode()[900] ^ 4));
  scratch.put('words.txt', 'apple\n');
  scratch.put('none.blm', '');
  scratch.put('stub.blm', plain.encode().subarray(0, 9));
  scratch.put('fixed.blm', StaticFilter.from(keys(0, 100)));
  scratch.put('blocks.blm', new BlockedBloomFilter({ blocks: 64, hashes: 4 }));
  scratch.put('unknown.blm', plain.encode().with(5, 99));
  it.each([
    [
      'encode fixed.blm --max-bytes 50 -o x',
      /takes \d+ bytes coded, more than 50; a StaticFilter is not made to fit by itself$/m,
    ],
    ['encode cut.blm -o x', /cut\.blm: the file is cut off/],
    ['encode flipped.blm -o x', /flipped\.blm: the file was damaged/],
    ['encode words.txt -o x', /words\.txt is not a filter made by bloomery/],
    ['encode none.blm -o x', /none\.blm is empty/],
    ['encode stub.blm -o x', /stub\.blm: the file is cut off/],
    ['encode unknown.blm -o x', /unknown\.blm: .*no structure has the number 99/],
    ['encode plain.blm --max-bytes 3 -o x', /at least 33/],
    ['encode plain.blm -o plain.blm', /plain\.blm exists already/],
    ['decode cut.blmz -o x', /cut\.blmz: the file was damaged/],
    ['decode cut.blm -o x', /cut\.blm: the file is cut off/],
    ['decode flipped.blm -o x', /flipped\.blm: the file was damaged/],
    ['decode words.txt -o x', /words\.txt is not a filter made by bloomery/],
    ['decode whole.blmz -o - --json', /both want standard output/],
    ['encode . -o x', /\. is a directory/],
    ['decode . -o x', /\. is a directory/],
    ['decode gone.blmz -o x', /gone\.blmz: no such file/],
  ])('%s', async (line, message) => {
    const { code, stdout, stderr } = await scratch.line(line);
    expect(stderr).toMatch(message);
    expect([code, stdout]).toEqual([2, '']);
    expect(scratch.has('x')).toBe(false);
  });

  it('says what to do with a blocked filter that does not fit', async () => {
    const blocked = new BlockedBloomFilter({ blocks: 64, hashes: 4 });
    blocked.addMany(keys(0, 3000));
    scratch.put('large.blm', blocked);
    const { code, stderr } = await scratch.line('encode large.blm --max-bytes 100 -o x');
    expect(code).toBe(2);
    expect(stderr).toMatch(/large\.blm takes \d+ bytes coded, more than 100;.*bloomery halve/);
    expect(scratch.has('x')).toBe(false);
    // To the byte is not too large.
    const { length } = compressFrame(blocked.encode());
    await scratch.ok(`encode large.blm --max-bytes ${length} -o exact.blmz`);
    expect(scratch.get('exact.blmz').length).toBe(length);
    expect((await scratch.line(`encode large.blm --max-bytes ${length - 1} -o x`)).code).toBe(2);
  });
});
