/**
 * Keeps the real world out of a run: while it is closed, the global timers, clocks and sources of
 * randomness throw, and the message names the call. Code that uses one of them behaves differently
 * on each run, and the hash would tell that too late and not where.
 *
 * The throw may be swallowed (a service that throws is a refusal to its caller), so the first one
 * is kept, and the simulation ends with it.
 *
 * It covers globals only. A function that a module took from the globals before the run, or from
 * `node:timers` and `node:crypto`, passes; tools/rules/sealed-code.mjs refuses these in the
 * sources. `process.nextTick` stays, because Node's own `console.log` needs it.
 *
 * `Date` and the others are replaced, not changed, so that programs which took them before, such as
 * a test runner, go on.
 */

import { SimulationError } from '../simulation-error.ts';

type Replacement = readonly [owner: object, name: string, sealed: unknown];

export class Seal {
  /** The first call that was refused. */
  broken: SimulationError | null = null;
  #before: [owner: object, name: string, own: PropertyDescriptor | undefined][] = [];

  close(): void {
    this.#before = this.#replacements().map(([owner, name, value]) => {
      const own = Object.getOwnPropertyDescriptor(owner, name);
      Object.defineProperty(owner, name, { value, configurable: true, writable: true, enumerable: true });
      return [owner, name, own];
    });
  }

  open(): void {
    for (const [owner, name, own] of this.#before.splice(0).reverse())
      if (own === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, own);
  }

  #replacements(): Replacement[] {
    const thrower = (call: string) => () => this.#refuse(call);
    const RealDate = Date;
    const sealedDate = new Proxy(RealDate, {
      apply: () => this.#refuse('Date()'),
      construct: (target, given, newTarget) =>
        given.length === 0 ? this.#refuse('new Date()') : Reflect.construct(target, given, newTarget),
      get: (target, name, receiver) =>
        name === 'now' ? thrower('Date.now') : Reflect.get(target, name, receiver),
    });
    return [
      ...['setTimeout', 'setInterval', 'setImmediate'].map(
        (name): Replacement => [globalThis, name, thrower(name)],
      ),
      [globalThis, 'Date', sealedDate],
      [performance, 'now', thrower('performance.now')],
      [Math, 'random', thrower('Math.random')],
      [crypto, 'randomUUID', thrower('crypto.randomUUID')],
      [crypto, 'getRandomValues', thrower('crypto.getRandomValues')],
    ];
  }

  #refuse(call: string): never {
    const error = new SimulationError(
      'sealed',
      `Cannot use the real world in a simulation: expected the Clock of a node, got ${call}`,
    );
    this.broken ??= error;
    throw error;
  }
}
