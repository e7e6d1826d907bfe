/**
 * The parts that all self-checks share. A check returns what it saw, or throws. A check that cannot
 * run here is skipped with a reason.
 */

export interface SelfCheck {
  readonly name: string;
  run(): string | Promise<string>;
}

/** Thrown by a check that cannot run on this machine. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}

export function assert(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

export function assertSameBytes(found: Uint8Array, expected: Uint8Array, what: string): void {
  if (found.length !== expected.length)
    throw new Error(`${what}: expected ${expected.length} bytes, got ${found.length}`);
  const at = found.findIndex((byte, i) => byte !== expected[i]);
  if (at >= 0) throw new Error(`${what}: byte ${at} is ${found[at]}, expected ${expected[at]}`);
}

/** `key-0` to `key-…`, as in the worked example of docs/spec/frame.md. */
export function keysUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `key-${i}`);
}
