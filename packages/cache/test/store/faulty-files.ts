/**
 * A file system that fails when it is told to: the calls of `node:fs` that the disk store makes,
 * each of which may be given an error instead. All else is real. For what cannot be had from a real
 * disk at will: the one read that fails between two that do not, a sync that fails, or a write that
 * takes as long as a test wants.
 *
 * To be imported before what it should have an effect on; the order of imports in a test (those of
 * this folder come before those of `../`) does that.
 */

import { syncBuiltinESMExports } from 'node:module';

export type FaultyCall = 'open' | 'read' | 'writev' | 'fdatasync';

/**
 * Asked before each call: an error code makes it fail, a promise makes it wait. `path`: of the
 * file, also where a call has only its descriptor.
 */
export const faults: {
  decide: ((call: FaultyCall, path: string) => string | Promise<void> | undefined) | undefined;
} = { decide: undefined };

type Callback = (error: Error | null, ...rest: unknown[]) => void;
type Call = (...input: unknown[]) => void;

const fs = process.getBuiltinModule('node:fs') as unknown as Record<FaultyCall, Call>;
const paths = new Map<unknown, string>();

for (const call of ['open', 'read', 'writev', 'fdatasync'] as const) {
  const real = fs[call];
  fs[call] = (...input) => {
    const callback = input.at(-1) as Callback;
    const path = call === 'open' ? String(input[0]) : (paths.get(input[0]) ?? '');
    const code = faults.decide?.(call, path);
    if (typeof code === 'object') {
      void code.then(() => fs[call](...input));
      return;
    }
    if (code !== undefined) {
      const error = Object.assign(new Error(`${code}: as the test wants, ${call}`), { code, syscall: call });
      setImmediate(() => callback(error));
      return;
    }
    if (call !== 'open') return real(...input);
    real(...input.slice(0, -1), (error: Error | null, fd: number) => {
      if (error === null) paths.set(fd, path);
      callback(error, fd);
    });
  };
}
syncBuiltinESMExports();
