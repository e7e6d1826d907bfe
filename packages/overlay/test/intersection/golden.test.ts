/**
 * Sessions with fixed randomness, byte for byte, under both libraries. `BLOOMERY_WRITE_GOLDEN=1`
 * writes the file again, after a change of the protocol that must have a new version.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ristretto255_hasher } from '@noble/curves/ed25519.js';
import { expect, test } from 'vitest';
import {
  elementOfKey,
  HASH_DOMAIN,
  type PrimeOrderGroup,
} from '../../src/private/intersection/prime-order-group.ts';
import { ristretto255 } from '../../src/private/sodium.ts';
import { nobleGroup } from './noble-group.ts';
import { joined, openPair, runPair, texts } from './session-lab.ts';

const FILE = fileURLToPath(new URL('../golden/intersections-v1.json', import.meta.url));
const libsodium = await ristretto255();

const CASES = [
  {
    name: 'keys',
    reveals: 'keys',
    here: ['ann', 'bob', 'eve'],
    there: ['bob', 'carol', 'eve', 'ümit'],
    seeds: [1, 2],
  },
  {
    name: 'count',
    reveals: 'count',
    here: ['ann', 'bob', 'eve'],
    there: ['bob', 'carol', 'eve', 'ümit'],
    seeds: [3, 4],
  },
  { name: 'padded', reveals: 'keys', here: ['ann'], there: [], seeds: [5, 6], padTo: 4, context: 'a secret' },
] as const;

function vectors(group: PrimeOrderGroup) {
  return CASES.map((each) => {
    const { reveals, here, there, seeds } = each;
    const options = {
      group,
      reveals,
      ...('padTo' in each ? { padTo: each.padTo, context: new TextEncoder().encode(each.context) } : {}),
    };
    const [a, b] = openPair(
      { keys: here, options, seed: seeds[0] },
      { keys: there, options, seed: seeds[1] },
    );
    const { fromInitiator, fromResponder } = runPair(a, b);
    return {
      ...each,
      fromInitiator: Buffer.from(joined(fromInitiator)).toString('hex'),
      fromResponder: Buffer.from(joined(fromResponder)).toString('hex'),
      common: texts(a.result.common),
      commonCount: a.result.commonCount,
    };
  });
}

test('the vectors are golden, with libsodium and with noble-curves', () => {
  const now = vectors(libsodium);
  if (process.env.BLOOMERY_WRITE_GOLDEN === '1') writeFileSync(FILE, `${JSON.stringify(now, null, 2)}\n`);
  const golden = JSON.parse(readFileSync(FILE, 'utf8'));
  expect(now).toEqual(golden);
  expect(vectors(nobleGroup)).toEqual(golden);
});

test('elementOfKey is hash_to_ristretto255 of RFC 9380, as noble-curves has it', () => {
  for (const [key, context] of [
    ['', ''],
    ['ann@example.org', ''],
    ['ann@example.org', 'a secret of Ann and Bob'],
    ['x'.repeat(1000), 'y'.repeat(300)],
  ]) {
    const bytes = new TextEncoder().encode(key);
    const salt = new TextEncoder().encode(context);
    const message = joined([Uint8Array.of(salt.length & 255, salt.length >> 8), salt, bytes]);
    const expected = ristretto255_hasher.hashToCurve(message, { DST: HASH_DOMAIN }).toBytes();
    expect(elementOfKey(libsodium, bytes, salt)).toEqual(expected);
    expect(elementOfKey(nobleGroup, bytes, salt)).toEqual(expected);
  }
});

test('elementFrom maps as in appendix A.3 of RFC 9496', () => {
  // SHA-512 of "Ristretto is traditionally a short shot of espresso coffee".
  const uniform = libsodium.sha512(
    new TextEncoder().encode('Ristretto is traditionally a short shot of espresso coffee'),
  );
  for (const group of [libsodium, nobleGroup]) {
    expect(Buffer.from(group.elementFrom(uniform)).toString('hex')).toBe(
      '3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46',
    );
  }
});
