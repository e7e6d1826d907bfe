/**
 * Argument checks shared by every formula.
 *
 * A formula that gets a wrong number returns a plausible wrong number. So each public function
 * checks before it computes, and says which parameter was wrong, what was expected and what came.
 * Nothing is clamped: a rate of 1.5 is a mistake of the caller, not a request for 1.
 *
 * TypeError: not a number at all. RangeError: a number that is not allowed here.
 */

/**
 * The largest size of a filter: 2^36 bits are 8 GiB, and every index up to there is an exact
 * double.
 */
export const MAX_BITS = 2 ** 36;

/** The most hashes per key, because frames store the number in one byte. */
export const MAX_HASHES = 255;

/** Returns `value` if it is a finite number of at least `min` and at most `max`. */
export function checkNumber(name: string, value: unknown, min = 0, max = Number.MAX_VALUE): number {
  return check(
    name,
    value,
    (value as number) >= min && (value as number) <= max,
    range('a number ', min, max),
  );
}

/** Returns `value` if it is an integer of at least `min` and at most `max`. */
export function checkInteger(name: string, value: unknown, min = 0, max = Number.MAX_SAFE_INTEGER): number {
  const sound = Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  return check(name, value, sound, range('an integer ', min, max));
}

/**
 * Returns `value` if it lies strictly between 0 and 1: no filter reaches 0, and 1 needs no filter.
 */
export function checkRate(name: string, value: unknown): number {
  return check(name, value, (value as number) > 0 && (value as number) < 1, 'strictly between 0 and 1');
}

/** Returns `value` if it is one of the choices. */
export function checkChoice<T extends string>(name: string, value: unknown, choices: readonly T[]): T {
  if (!choices.includes(value as T)) {
    throw wrongValue(name, choices.map((c) => `'${c}'`).join(' or '), value);
  }
  return value as T;
}

/** The error for an argument whose value is not allowed. */
export function wrongValue(name: string, expected: string, value: unknown): RangeError {
  return new RangeError(`Cannot use ${name}: expected ${expected}, got ${String(value)}`);
}

function check(name: string, value: unknown, sound: boolean, expected: string): number {
  const type = typeof value;
  if (type === 'number') {
    if (sound) return value as number;
    throw wrongValue(name, expected, value);
  }
  throw new TypeError(
    wrongValue(name, expected, type === 'string' ? JSON.stringify(value) : value === null ? value : type)
      .message,
  );
}

function range(kind: string, min: number, max: number): string {
  return max < Number.MAX_SAFE_INTEGER ? `${kind}from ${min} to ${max}` : `${kind}of at least ${min}`;
}
