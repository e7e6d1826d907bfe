/**
 * CPU time of single steps, for "no step holds the event loop". Node 20 does not tell the CPU time
 * of one thread. The clock counts other programs as well, and the CPU time of the process counts
 * the helper threads of V8, in jumps of 4 ms. Both are upper bounds, so the smaller one is taken.
 *
 * The same work is done in several passes, step by step, and a step takes the least time that it
 * took in any of them. That leaves out the garbage collector and the compiler, which come at
 * another step in each pass, and whose time depends on everything else that a process does. The
 * longest step with them is given as well.
 */

/** The steps of one kind of work, in milliseconds of CPU time. */
export interface StepTimes {
  readonly name: string;
  readonly steps: number;
  readonly total: number;
  readonly p99: number;
  readonly worst: number;
  /** The longest step of the passes, collections and compilations included: their median. */
  readonly worstSeen: number;
}

type Pass = Map<string, number[]>;

export class StepMeter {
  readonly #passes: Pass[] = [];
  #pass: Pass | null = null;

  /** Begins a pass. Steps before the first one are not measured. */
  begin(): void {
    this.#pass = new Map();
    this.#passes.push(this.#pass);
  }

  /** Measures one step. */
  step<T>(name: string, run: () => T): T {
    if (this.#pass === null) return run();
    const times = this.#pass.get(name) ?? [];
    this.#pass.set(name, times);
    const from = performance.now();
    const before = process.cpuUsage();
    const result = run();
    const { user, system } = process.cpuUsage(before);
    times.push(Math.min(performance.now() - from, (user + system) / 1000));
    return result;
  }

  /** Runs work to its end, and measures each step. */
  run<T>(name: string, steps: Generator<unknown, T, undefined>): T {
    for (;;) {
      const step = this.step(name, () => steps.next());
      if (step.done) return step.value;
    }
  }

  timesOf(name: string): StepTimes {
    const passes = this.#passes.map((pass) => pass.get(name) ?? []);
    const least = passes[0].map((time, i) => passes.reduce((best, times) => Math.min(best, times[i]), time));
    least.sort((a, b) => a - b);
    const worst = passes.map((times) => times.reduce((most, time) => Math.max(most, time), 0));
    return {
      name,
      steps: least.length,
      total: least.reduce((sum, time) => sum + time, 0),
      p99: least[Math.ceil(0.99 * least.length) - 1] ?? Number.NaN,
      worst: least.at(-1) ?? Number.NaN,
      worstSeen: worst.sort((a, b) => a - b)[worst.length >> 1],
    };
  }
}
