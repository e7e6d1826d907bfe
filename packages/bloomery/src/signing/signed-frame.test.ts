import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { expect, test } from 'vitest';
import { SAMPLES } from '../../test/sample-filters.ts';
import { PUBLISHER } from '../../test/signing-keys.ts';
import { FrameError } from '../frames/envelope.ts';
import { BloomFilter, CountingBloomFilter } from '../index.ts';
import { compressFrame, makeDelta, OtherSnapshotError } from '../wire/index.ts';
import { fileList } from './file-list.ts';
import { webSha256 } from './signature-crypto.ts';
import { SignatureError } from './signature-error.ts';
import { signFrame, verifyContents, verifyDeltas, verifyFrame } from './signed-frame.ts';
import { readSignature, type Statement } from './statement.ts';

async function statementOf(frame: Uint8Array, proofs = false): Promise<Statement> {
  return readSignature(await signFrame(frame, { epoch: 1, proofs, sign: PUBLISHER.sign })).statement;
}

/** The states of a set on four days, of which each differs a little from the one before. */
function fourDays(): Uint8Array[] {
  const set = new CountingBloomFilter({ counters: 4000, hashes: 2 });
  return [0, 1, 2, 3].map((day) => {
    for (let i = 0; i < 100; i++) set.add(`day ${day}, key ${i}`);
    for (let i = 0; day > 0 && i < 20; i++) set.delete(`day ${day - 1}, key ${i}`);
    return set.snapshot().encode();
  });
}

test('frames of every structure are signed, and verified plain and coded', async () => {
  for (const [structure, make] of Object.entries(SAMPLES)) {
    const frame = make().encode();
    const statement = await statementOf(frame);
    expect(statement).toMatchObject({ structure, length: frame.length, name: '' });
    expect(await statementOf(compressFrame(frame)), structure).toEqual(statement);
    expectSameBytes(await verifyFrame(statement, frame), frame);
    expectSameBytes(await verifyFrame(statement, compressFrame(frame)), frame);
  }
});

test('a changed bit anywhere in a frame is noticed, even under a right checksum', async () => {
  const frame = SAMPLES.BloomFilter().encode();
  const statement = await statementOf(frame);
  for (let bit = 0; bit < 8 * frame.length; bit++) {
    const changed = frame.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    const error = await verifyFrame(statement, changed).catch((reason: unknown) => reason);
    expect(error instanceof SignatureError || error instanceof FrameError, `bit ${bit}`).toBe(true);
  }
  const other = new BloomFilter({ bits: 301, hashes: 5, capacity: 30 });
  await expect(verifyFrame(statement, other.encode())).rejects.toMatchObject({ code: 'contents' });
});

test('every prefix of a coded frame is refused', async () => {
  const sparse = new BloomFilter({ bits: 20_000, hashes: 2 });
  sparse.addMany(['ant', 'bee', 'cat']);
  const coded = compressFrame(sparse.encode());
  const statement = await statementOf(coded);
  for (let length = 0; length < coded.length; length++) {
    await expect(verifyFrame(statement, coded.subarray(0, length))).rejects.toThrow(FrameError);
  }
});

test('another structure and another length are refused before anything is hashed or unpacked', async () => {
  const statement = await statementOf(new BloomFilter({ bits: 512, hashes: 3 }).encode());
  const sha256 = () => {
    throw new Error('Cannot hash: expected no call');
  };
  const blocked = SAMPLES.BlockedBloomFilter().encode();
  await expect(verifyFrame(statement, blocked, { sha256 })).rejects.toMatchObject({ code: 'contents' });
  const larger = new BloomFilter({ bits: 520, hashes: 3 }).encode();
  await expect(verifyFrame(statement, larger, { sha256 })).rejects.toMatchObject({ code: 'contents' });
  // Some bytes that stand for 16 MB.
  const bomb = compressFrame(new BloomFilter({ bits: 2 ** 27, hashes: 3 }).encode());
  expect(bomb.length).toBeLessThan(1000);
  await expect(verifyFrame(statement, bomb, { sha256 })).rejects.toMatchObject({ code: 'limit' });
});

test('a signature of a state serves every way that leads to it', async () => {
  const days = fourDays();
  const statement = await statementOf(days[3]);
  const steps = [1, 2, 3].map((day) => makeDelta(days[day - 1], days[day]));
  expectSameBytes(await verifyDeltas(statement, days[0], steps), days[3]);
  expectSameBytes(await verifyDeltas(statement, days[0], [makeDelta(days[0], days[3])]), days[3]);
  expectSameBytes(await verifyDeltas(statement, days[3], []), days[3]);
});

test('deltas that lead elsewhere are refused', async () => {
  const days = fourDays();
  const statement = await statementOf(days[3]);
  const [first, second] = [makeDelta(days[0], days[1]), makeDelta(days[1], days[2])];
  await expect(verifyDeltas(statement, days[0], [first, second])).rejects.toMatchObject({ code: 'contents' });
  await expect(verifyDeltas(statement, days[1], [first])).rejects.toThrow(OtherSnapshotError);
  for (let length = 0; length < second.length; length += 7) {
    const cut = verifyDeltas(statement, days[1], [second.subarray(0, length)]);
    await expect(cut).rejects.toThrow(FrameError);
  }
});

test('a list of files is compared by its length and its digest', async () => {
  const list = fileList([{ name: 'a.text', sha256: new Uint8Array(32) }]);
  const sha256 = await webSha256(list);
  const statement: Statement = { structure: 'TextIndex', epoch: 1, length: list.length, sha256, name: '' };
  await expect(verifyContents(statement, list)).resolves.toBeUndefined();
  const changed = list.slice();
  changed[0] ^= 1;
  for (const other of [changed, list.subarray(1)]) {
    await expect(verifyContents(statement, other)).rejects.toMatchObject({ code: 'contents' });
  }
  await expect(verifyFrame(statement, SAMPLES.BloomFilter().encode())).rejects.toMatchObject({
    code: 'contents',
  });
});

test('signFrame refuses a damaged frame, and an epoch that is no number', async () => {
  const frame = SAMPLES.BloomFilter().encode();
  const damaged = frame.slice();
  damaged[40] ^= 1;
  const sign = PUBLISHER.sign;
  await expect(signFrame(damaged, { epoch: 1, sign })).rejects.toMatchObject({ code: 'checksum' });
  await expect(signFrame(frame, { sign } as never)).rejects.toThrow(TypeError);
  await expect(signFrame(frame, { epoch: 1, sign, prooofs: true } as never)).rejects.toThrow(/prooofs/);
  await expect(signFrame(frame, { epoch: 1, sign: () => new Uint8Array(8) })).rejects.toThrow(/64 bytes/);
});

test('a hash function of the caller must give 32 bytes', async () => {
  const frame = SAMPLES.BloomFilter().encode();
  const sha256 = () => new Uint8Array(20);
  await expect(signFrame(frame, { epoch: 1, sign: PUBLISHER.sign, sha256 })).rejects.toThrow(/got 20/);
});
