import { expect, test } from 'vitest';
import { OTHER, PUBLISHER } from '../../test/signing-keys.ts';
import { BloomFilter } from '../index.ts';
import { signFrame } from './signed-frame.ts';
import { readSignature } from './statement.ts';
import { signStatement, verifySignature } from './verify-signature.ts';

const keys = [PUBLISHER.publicKey];

function frameOf(...words: string[]): Uint8Array {
  const filter = new BloomFilter({ bits: 512, hashes: 3 });
  filter.addMany(words);
  return filter.encode();
}

function signed(frame: Uint8Array, epoch: number, name = 'words'): Promise<Uint8Array> {
  return signFrame(frame, { epoch, name, sign: PUBLISHER.sign });
}

test('a signature holds under its key, among several, and under no other', async () => {
  const bytes = await signed(frameOf('ant'), 3);
  const { statement } = readSignature(bytes);
  await expect(verifySignature(bytes, { keys, name: 'words' })).resolves.toEqual(statement);
  const both = [OTHER.publicKey, PUBLISHER.publicKey];
  await expect(verifySignature(bytes, { keys: both, name: 'words' })).resolves.toEqual(statement);
  await expect(verifySignature(bytes, { keys: [OTHER.publicKey], name: 'words' })).rejects.toMatchObject({
    code: 'forged',
    message: 'Cannot trust the signature: expected one made by the key, got another',
  });
});

test('a signature of the bare statement, without the line before it, does not hold', async () => {
  const { statement } = readSignature(await signed(frameOf('ant'), 3));
  const bare = await signStatement(statement, (message) => PUBLISHER.sign(message.subarray(21)));
  await expect(verifySignature(bare, { keys, name: 'words' })).rejects.toMatchObject({ code: 'forged' });
});

test('the name must be the expected one, and no name is a name of its own', async () => {
  const named = await signed(frameOf('ant'), 3);
  const nameless = await signed(frameOf('ant'), 3, '');
  await expect(verifySignature(nameless, { keys })).resolves.toMatchObject({ name: '' });
  for (const [bytes, name] of [
    [named, undefined],
    [named, 'Words'],
    [nameless, 'words'],
  ] as const) {
    await expect(verifySignature(bytes, { keys, name })).rejects.toMatchObject({ code: 'name' });
  }
});

test('an older publication is stale, by the lowest epoch or by the last one that was accepted', async () => {
  const [monday, tuesday] = [await signed(frameOf('ant'), 3), await signed(frameOf('ant', 'bee'), 4)];
  const options = { keys, name: 'words' };
  await expect(verifySignature(monday, { ...options, atLeastEpoch: 3 })).resolves.toBeDefined();
  await expect(verifySignature(monday, { ...options, atLeastEpoch: 4 })).rejects.toMatchObject({
    code: 'stale',
    message: 'Cannot trust the signature: expected epoch 4 or later, got 3',
  });
  const last = await verifySignature(tuesday, options);
  await expect(verifySignature(monday, { ...options, last })).rejects.toMatchObject({ code: 'stale' });
  await expect(verifySignature(tuesday, { ...options, last })).resolves.toEqual(last);
});

test('two contents under one epoch are a conflict', async () => {
  const options = { keys, name: 'words' };
  const last = await verifySignature(await signed(frameOf('ant'), 3), options);
  const second = await signed(frameOf('cat'), 3);
  await expect(verifySignature(second, { ...options, last })).rejects.toMatchObject({ code: 'conflict' });
});

test('forged bytes are reported as forged, whatever their name and epoch', async () => {
  const bytes = await signed(frameOf('ant'), 3);
  bytes[8] = 2; // the epoch
  await expect(verifySignature(bytes, { keys, name: 'other', atLeastEpoch: 9 })).rejects.toMatchObject({
    code: 'forged',
  });
});

test('the caller can bring Ed25519, and only true means that it holds', async () => {
  const bytes = await signed(frameOf('ant'), 3);
  const calls: unknown[][] = [];
  const { message, signature } = readSignature(bytes);
  const verify = (...call: [Uint8Array, Uint8Array, Uint8Array]) => {
    calls.push(call);
    return true;
  };
  await expect(verifySignature(bytes, { keys, name: 'words', verify })).resolves.toBeDefined();
  expect(calls).toEqual([[PUBLISHER.publicKey, message, signature]]);
  for (const answer of [false, 'yes', 1, undefined]) {
    const verifying = verifySignature(bytes, { keys, name: 'words', verify: () => answer as never });
    await expect(verifying).rejects.toMatchObject({ code: 'forged' });
  }
});

test('mistakes of the caller are refused', async () => {
  const bytes = await signed(frameOf('ant'), 3);
  await expect(verifySignature(bytes, { keys: [] })).rejects.toThrow(TypeError);
  await expect(verifySignature(bytes, { keys: [new Uint8Array(44)] })).rejects.toThrow(/readPublicKey/);
  await expect(verifySignature(bytes, { keys, atLeastEpoch: -1 })).rejects.toThrow(RangeError);
  await expect(verifySignature(bytes, { keys, nam: 'words' } as never)).rejects.toThrow(/got option 'nam'/);
});

test('an aborted signal ends the work with its reason', async () => {
  const bytes = await signed(frameOf('ant'), 3);
  const signal = {
    aborted: true,
    reason: new Error('enough'),
    addEventListener() {},
    removeEventListener() {},
  };
  await expect(verifySignature(bytes, { keys, signal })).rejects.toThrow('enough');
  const { statement } = readSignature(bytes);
  await expect(signStatement(statement, PUBLISHER.sign, { signal })).rejects.toThrow('enough');
});
