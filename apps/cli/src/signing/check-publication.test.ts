import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BloomFilter } from 'bloomery';
import { compressFrame, makeDelta } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run-command.ts';
import { UsageError } from '../usage-error.ts';
import { checkPublication, signaturePath } from './check-publication.ts';
import { generateKeys, readSigner } from './key-files.ts';
import { signFile } from './published.ts';

const folder = temporaryFolder();
const path = (name: string) => join(folder, name);
const { privateKey, publicKey } = generateKeys(path('publisher'));
const signedBy = [publicKey];
const sign = readSigner(privateKey);

/** Writes the filter of the first `count` numbers. */
function write(name: string, count: number): string {
  const filter = new BloomFilter({ bits: 5000, hashes: 3 });
  for (let i = 0; i < count; i++) filter.add(i);
  writeFileSync(path(name), filter.encode());
  return path(name);
}

async function publish(name: string, count: number, epoch: number, called = ''): Promise<string> {
  const file = write(name, count);
  writeFileSync(signaturePath(file), await signFile(file, { epoch, name: called, proofs: false, sign }));
  return file;
}

test('a signed file holds with its own signature, and coded or renamed with that signature', async () => {
  const file = await publish('plain.blm', 100, 1);
  const report = await checkPublication(file, { signedBy });
  expect(report).toMatchObject({ signed: true, structure: 'BloomFilter', epoch: 1, name: '', length: 657 });
  writeFileSync(path('coded.blm'), compressFrame(readFileSync(file)));
  const signature = signaturePath(file);
  expect(await checkPublication(path('coded.blm'), { signedBy, signature })).toMatchObject({ signed: true });
});

test('another file, key or name is not signed, and the reason says so', async () => {
  const file = await publish('named.blm', 100, 1, 'numbers');
  const check = (more: object) => checkPublication(file, { signedBy, name: 'numbers', ...more });
  expect((await check({})).signed).toBe(true);
  expect(await checkPublication(file, { signedBy })).toMatchObject({
    signed: false,
    code: 'name',
    reason: 'it is for the name "numbers"; --name accepts that one',
  });
  expect(await check({ name: 'words' })).toMatchObject({ signed: false, code: 'name' });
  const other = generateKeys(path('other')).publicKey;
  expect(await check({ signedBy: [other] })).toMatchObject({ signed: false, code: 'forged' });
  expect(await check({ signedBy: [other, publicKey] })).toMatchObject({ signed: true });
  expect(await check({ atLeastEpoch: 2 })).toMatchObject({ signed: false, code: 'stale' });
  write('named.blm', 101);
  expect(await check({})).toMatchObject({ signed: false, code: 'contents' });
});

test('a state file refuses what is older, and a second file with one epoch', async () => {
  const state = path('seen');
  const check = (file: string) => checkPublication(file, { signedBy, state });
  const first = await publish('first.blm', 100, 1);
  const second = await publish('second.blm', 120, 2);
  const twin = await publish('twin.blm', 130, 2);
  expect((await check(first)).signed).toBe(true);
  expect((await check(second)).signed).toBe(true);
  expect((await check(second)).signed).toBe(true);
  expect(await check(first)).toMatchObject({ signed: false, code: 'stale' });
  expect(await check(twin)).toMatchObject({ signed: false, code: 'conflict' });
  expect(readFileSync(state)).toEqual(readFileSync(signaturePath(second)));
});

test('what is not signed leaves the state as it was', async () => {
  const state = path('kept');
  const file = await publish('kept.blm', 100, 1);
  await checkPublication(file, { signedBy, state });
  const before = readFileSync(state);
  const later = await publish('later.blm', 120, 2);
  write('later.blm', 121);
  expect(await checkPublication(later, { signedBy, state })).toMatchObject({ code: 'contents' });
  expect(readFileSync(state)).toEqual(before);
  await expect(checkPublication(file, { signedBy, state, name: 'x' })).rejects.toThrow(
    /a file for each name/,
  );
  writeFileSync(state, 'nonsense');
  await expect(checkPublication(file, { signedBy, state })).rejects.toThrow(UsageError);
});

test('of checks at the same time, none sets the state back', async () => {
  const state = path('raced');
  const files = [];
  for (let epoch = 1; epoch <= 6; epoch++) files.push(await publish(`race-${epoch}.blm`, 10 * epoch, epoch));
  await Promise.all([...files].reverse().map((file) => checkPublication(file, { signedBy, state })));
  expect(readFileSync(state)).toEqual(readFileSync(signaturePath(files[5])));
});

test('a delta is signed if it leads from its base to the signed filter', async () => {
  const [old, now] = [write('old.blm', 100), await publish('now.blm', 110, 5)];
  const signature = signaturePath(now);
  const delta = path('now.delta');
  writeFileSync(delta, makeDelta(readFileSync(old), readFileSync(now)));
  const check = (base?: string) =>
    checkPublication(delta, { signedBy, signature, ...(base === undefined ? {} : { base }) });
  expect((await check(old)).signed).toBe(true);
  await expect(check()).rejects.toThrow(/is a delta; --base names the filter that it starts from/);
  await expect(check(now)).rejects.toThrow(/does not start from the filter of --base/);
  expect(await signFile(delta, { epoch: 5, name: '', proofs: false, base: old, sign })).toEqual(
    Uint8Array.from(readFileSync(signature)),
  );
  const elsewhere = write('elsewhere.blm', 90);
  writeFileSync(delta, makeDelta(readFileSync(old), readFileSync(elsewhere)));
  expect(await check(old)).toMatchObject({ signed: false, code: 'contents' });
  await expect(checkPublication(now, { signedBy, base: old })).rejects.toThrow(/--base is for deltas/);
});

test('files that cannot be read are errors with their names', async () => {
  const file = await publish('broken.blm', 100, 1);
  await expect(checkPublication(path('old.blm'), { signedBy })).rejects.toThrow(
    /has no signature .*old\.blm\.sig/,
  );
  writeFileSync(path('short.sig'), readFileSync(signaturePath(file)).subarray(0, 100));
  await expect(checkPublication(file, { signedBy, signature: path('short.sig') })).rejects.toThrow(
    /short\.sig: the file is cut off/,
  );
  writeFileSync(path('text'), 'no filter');
  await expect(signFile(path('text'), { epoch: 1, name: '', proofs: false, sign })).rejects.toThrow(
    /is no filter and no delta of bloomery/,
  );
});
