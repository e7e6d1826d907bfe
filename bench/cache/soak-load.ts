/**
 * The load of a soak: clients that ask at a constant rate for objects of a world whose every byte
 * is known (chaos-world.ts), popular and rare ones by Zipf's law. One answer in seven is a range,
 * one client in thirty leaves in the middle, one connection in thirty is not kept.
 */

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '../../packages/testkit/src/origins/chaos-world.ts';
import type { SoakSample } from './soak.ts';

export class Load {
  readonly #world: World;
  readonly #port: number;
  readonly #clients: number;
  readonly #pauseMs: number;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #zipf: Float64Array;
  #running: Promise<unknown> | null = null;
  #over = false;
  #latencies: number[] = [];
  readonly wrong: string[] = [];
  requests = 0;
  bytes = 0;
  hits = 0;
  left = 0;

  constructor(world: World, port: number, clients: number, rate: number) {
    this.#world = world;
    this.#port = port;
    this.#clients = clients;
    this.#pauseMs = (1000 * clients) / rate;
    this.#zipf = new Float64Array(world.objects);
    let total = 0;
    for (let rank = 0; rank < world.objects; rank++) this.#zipf[rank] = total += 1 / (rank + 1) ** 0.8;
  }

  start(): void {
    this.#running = Promise.all(Array.from({ length: this.#clients }, () => this.#client()));
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#running;
    this.#agent.destroy();
  }

  /** Since the last call. */
  window(): Pick<SoakSample, 'requests' | 'p50Ms' | 'p99Ms'> {
    const sorted = this.#latencies.sort((one, other) => one - other);
    this.#latencies = [];
    const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
    return { requests: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) };
  }

  async #client(): Promise<void> {
    let due = performance.now() + Math.random() * this.#pauseMs;
    while (!this.#over) {
      const now = performance.now();
      if (due > now) await sleep(due - now);
      // Who is late does not catch up: the load is constant, not a flood after each pause.
      due = Math.max(due, now) + this.#pauseMs;
      await this.#ask();
    }
  }

  async #ask(): Promise<void> {
    const world = this.#world;
    const id = this.#choose();
    const dice = Math.random();
    const size = Math.max(1, world.size(id, world.version(id)));
    const place = Math.floor(Math.random() * size);
    const began = performance.now();
    try {
      const verdict = await world.ask(this.#port, id, {
        ...(dice < 0.03 ? {} : { agent: this.#agent }),
        ...(dice > 0.85 ? { range: [place, place + Math.floor(Math.random() * 100_000)] } : {}),
        ...(dice > 0.03 && dice < 0.06 ? { leaveAfter: place } : {}),
      });
      this.#latencies.push(performance.now() - began);
      this.requests++;
      this.bytes += verdict.bytes;
      if (verdict.hit) this.hits++;
      if (verdict.left) this.left++;
      if (verdict.wrong !== null) this.#note(verdict.wrong);
      else if (verdict.cut) this.#note(`${id}: cut after ${verdict.bytes} bytes`);
      else if (verdict.status >= 400 && verdict.status !== 416) this.#note(`${id}: ${verdict.status}`);
    } catch (error) {
      this.#note(`${id}: ${error}`);
    }
  }

  #choose(): number {
    const total = this.#zipf.at(-1)!;
    const point = Math.random() * total;
    let low = 0;
    let high = this.#zipf.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#zipf[middle]! < point) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #note(what: string): void {
    if (this.wrong.length < 100) this.wrong.push(`${new Date().toISOString()} ${what}`);
  }
}
