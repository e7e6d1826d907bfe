/**
 * The test that two structures can be combined: they are of one class and have equal descriptions.
 * `toString` of every structure names all parameters that must agree, and no others, so that an
 * error which shows both sides shows what differs.
 *
 * Combining unlike ones would give answers that look right and are wrong, so it is an error.
 */

/** A class. Its constructor may be private. */
interface Class<T> {
  readonly prototype: T;
  [Symbol.hasInstance](value: unknown): boolean;
}

/** Whether `other` is of the class of `one`, with the same parameters. */
export function areAlike<T extends object>(type: Class<T>, one: T, other: T): boolean {
  return other instanceof type && `${one}` === `${other}`;
}

/**
 * Throws the error that shows both sides, unless they are alike. `verb` says what was asked for.
 */
export function checkAlike(alike: boolean, verb: string, one: object, other: object): void {
  if (!alike) throw new RangeError(`Cannot ${verb} unlike filters: ${one} and ${other}`);
}
