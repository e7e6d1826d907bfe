/**
 * ristretto255 by @noble/curves: a second implementation, by other authors, for tests and for the
 * comparison of bench/private. The product uses libsodium; src/private/sodium.ts says why.
 */

import { createHash } from 'node:crypto';
import { ristretto255, ristretto255_hasher } from '@noble/curves/ed25519.js';
import type { PrimeOrderGroup } from '../../src/private/intersection/prime-order-group.ts';

const { Point } = ristretto255;

export const nobleGroup: PrimeOrderGroup = {
  sha512: (message) => new Uint8Array(createHash('sha512').update(message).digest()),
  elementFrom: (uniform) => ristretto255_hasher.deriveToCurve?.(uniform).toBytes() as Uint8Array,
  scalarFrom: (uniform) => Point.Fn.toBytes(Point.Fn.create(littleEndian(uniform))),
  multiply: (element, scalar) => {
    let point: InstanceType<typeof Point>;
    try {
      point = Point.fromBytes(element);
    } catch {
      return null;
    }
    return point.is0() ? null : point.multiply(Point.Fn.fromBytes(scalar)).toBytes();
  },
};

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
