/**
 * A machine in a simulated network, and the program that runs on it: started, crashed and started
 * again. A crash leaves the disk, unless `losesDisk` says otherwise.
 *
 * A crash is sudden. The program's timers, requests and deliveries never run again, and a promise
 * that one of its functions awaits stays open, so no code of a dead program touches the disk that
 * its successor reads. Everything that was put on the disk before is there. We refused to model
 * writes that are half done: a program that needs them puts its own journal on the disk.
 *
 *     const host = new SimHost(network, { id: 'a', peers: ['sim:b'] }, ({ transport, disk, clock }) => {
 *       const boots = Number(disk.get('boots') ?? 0) + 1;
 *       disk.set('boots', boots);
 *       …
 *     });
 *     host.crash();
 *     host.restart();
 */

import type { NodeClock } from '../engine/node-clock.ts';
import type { SimNetwork, SimNodeOptions } from './sim-network.ts';
import type { SimTransport } from './sim-transport.ts';

/** The surroundings of a program. */
export interface HostContext {
  readonly id: string;
  readonly clock: NodeClock;
  readonly transport: SimTransport;
  /** Values that survive a crash. The program stores copies of what it goes on changing. */
  readonly disk: Map<string, unknown>;
}

/** A program. It is called at each start. Its result is what tests and invariants look at. */
export type HostProgram<P> = (context: HostContext) => P;

export class SimHost<P = void> {
  readonly id: string;
  readonly address: string;
  readonly #network: SimNetwork;
  readonly #options: SimNodeOptions;
  readonly #start: HostProgram<P>;
  #disk = new Map<string, unknown>();
  #program: P | undefined;
  #isUp = false;

  /** Starts the program. */
  constructor(network: SimNetwork, options: SimNodeOptions, start: HostProgram<P>) {
    this.id = options.id;
    this.address = options.address ?? `sim:${options.id}`;
    this.#network = network;
    this.#options = options;
    this.#start = start;
    this.restart();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** The running program, or undefined while it is down. */
  get program(): P | undefined {
    return this.#isUp ? this.#program : undefined;
  }

  get disk(): ReadonlyMap<string, unknown> {
    return this.#disk;
  }

  /** Ends the program in the middle of its work. Does nothing if it is down. */
  crash({ losesDisk = false }: { losesDisk?: boolean } = {}): void {
    // A dead program may still hold the old map, so its successor gets another one.
    this.#disk = new Map(losesDisk ? [] : this.#disk);
    if (!this.#isUp) return;
    this.#isUp = false;
    this.#program = undefined;
    this.#network.crash(this.address);
  }

  /** Starts the program again, with the disk that is left. Does nothing if it runs. */
  restart(): void {
    if (this.#isUp) return;
    const transport = this.#network.join(this.#options);
    this.#isUp = true;
    this.#program = this.#start({ id: this.id, clock: transport.clock, transport, disk: this.#disk });
  }
}
