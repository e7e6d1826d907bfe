import { expect, test } from 'vitest';
import { areAlike, checkAlike } from './alike.ts';

class Sieve {
  readonly holes: number;

  constructor(holes: number) {
    this.holes = holes;
  }

  toString(): string {
    return `Sieve(${this.holes} holes)`;
  }
}

/** An object of another class that describes itself as a sieve does. */
const lookalike = { holes: 3, toString: () => 'Sieve(3 holes)' };

test('areAlike means one class and one description', () => {
  expect(areAlike(Sieve, new Sieve(3), new Sieve(3))).toBe(true);
  expect(areAlike(Sieve, new Sieve(3), new Sieve(4))).toBe(false);
  expect(areAlike(Sieve, new Sieve(3), lookalike)).toBe(false);
  for (const other of [undefined, null, 'Sieve(3 holes)']) {
    expect(areAlike(Sieve, new Sieve(3), other as never)).toBe(false);
  }
});

test('checkAlike names the verb and both sides', () => {
  expect(() => checkAlike(true, 'merge', new Sieve(3), new Sieve(3))).not.toThrow();
  expect(() => checkAlike(false, 'merge', new Sieve(3), new Sieve(4))).toThrow(
    new RangeError('Cannot merge unlike filters: Sieve(3 holes) and Sieve(4 holes)'),
  );
});
