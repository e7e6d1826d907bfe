import { expectBinomial, expectNormal } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { MEAN_OBJECT_BYTES, ObjectSizes, SIZE_SIGMA } from './object-sizes.ts';

const OBJECTS = 200_000;

test('ObjectSizes are lognormal with the stated mean and sigma', () => {
  const sizes = new ObjectSizes(3);
  const bytes = Array.from({ length: OBJECTS }, (_, object) => sizes.bytesOf(object));
  const mean = bytes.reduce((sum, length) => sum + length, 0) / OBJECTS;
  const deviation = MEAN_OBJECT_BYTES * Math.sqrt(Math.exp(SIZE_SIGMA ** 2) - 1);
  expectNormal(mean, 30_000, deviation / Math.sqrt(OBJECTS), 'mean length');
  const mu = Math.log(30_000) - SIZE_SIGMA ** 2 / 2;
  const normal = bytes.map((length) => (Math.log(length) - mu) / 1.5);
  expectNormal(normal.reduce((sum, z) => sum + z, 0) / OBJECTS, 0, 1 / Math.sqrt(OBJECTS), 'mean logarithm');
  const squares = normal.reduce((sum, z) => sum + z * z, 0) / OBJECTS;
  expectNormal(squares, 1, Math.sqrt(2 / OBJECTS), 'variance of the logarithm');
  // Shares of a normal variable above 1 and 3 sigma.
  expectBinomial(normal.filter((z) => z > 1).length, OBJECTS, 0.158655, 'above 1 sigma');
  expectBinomial(normal.filter((z) => z > 3).length, OBJECTS, 0.0013499, 'above 3 sigma');
});

test('ObjectSizes are the same for the same seed, other for another, and whole', () => {
  const [one, same, other] = [new ObjectSizes(3), new ObjectSizes(3), new ObjectSizes(4)];
  const all = (sizes: ObjectSizes) => Array.from({ length: 100 }, (_, object) => sizes.bytesOf(object));
  expect(all(same)).toEqual(all(one));
  expect(all(other)).not.toEqual(all(one));
  expect(all(new ObjectSizes(3, 2)).every((bytes) => Number.isInteger(bytes) && bytes >= 1)).toBe(true);
});
