/**
 * Sockets of another network namespace in this process. A small program in the namespace opens them
 * and hands them over (socket-lender.mjs); from then on they belong to this process, and their
 * packets still pass the cards and the rules of the namespace. So a test checks answers, plays the
 * origin and breaks connections in its own process, although each of these stands elsewhere in the
 * network.
 *
 * We refused a process of its own for each of these roles: every fault, every count and every
 * version of an object would need a protocol.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { Server, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Space } from './virtual-network.ts';

const PROGRAM = fileURLToPath(new URL('socket-lender.mjs', import.meta.url));

/** An address in a virtual network. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

type Lent = Server | Socket | DatagramSocket;

export class SpaceSockets implements AsyncDisposable {
  readonly #space: Space;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (lent: Lent | Error) => void>();
  #asked = 0;

  constructor(space: Space) {
    this.#space = space;
    const [program, ...words] = [...space.prefix, process.execPath, PROGRAM];
    this.#child = spawn(program!, words, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#child.on('message', (answer, lent) => {
      const { number, problem } = answer as { number: number; problem?: string };
      const settle = this.#waiting.get(number);
      this.#waiting.delete(number);
      settle?.(problem === undefined ? (lent as Lent) : new Error(problem));
    });
    this.#child.on('error', (error) => this.#end(error));
    this.#child.on('exit', () => this.#end(new Error('the program has ended')));
  }

  /** A server that listens there. `listen` of another server takes it as a handle. */
  async listen(place: Place): Promise<Server> {
    const lent = await this.#ask({ listen: place });
    if (lent instanceof Server) return lent;
    throw this.#problem('a server', place, lent);
  }

  async connect(place: Place): Promise<Socket> {
    const lent = await this.#ask({ connect: place });
    if (lent instanceof Socket) return lent;
    throw this.#problem('a connection', place, lent);
  }

  /** A UDP socket that is bound there. */
  async datagrams(place: Place): Promise<DatagramSocket> {
    const lent = await this.#ask({ datagrams: place });
    if (lent instanceof DatagramSocket) return lent;
    throw this.#problem('a UDP socket', place, lent);
  }

  /** An agent whose connections all lead to one place, whatever the request says. */
  agentFor(place: Place): Agent {
    return new SpaceAgent(() => this.connect(place));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  #ask(what: object): Promise<Lent | Error> {
    const number = this.#asked++;
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve);
      this.#child.send({ number, ...what }, (error) => error !== null && this.#end(error));
    });
  }

  #end(error: Error): void {
    for (const settle of this.#waiting.values()) settle(error);
    this.#waiting.clear();
  }

  #problem(what: string, { host, port }: Place, got: Lent | Error): Error {
    return new Error(
      `Cannot open a socket in ${this.#space.name}: expected ${what} at ${host}:${port}, got ${got}`,
    );
  }
}

class SpaceAgent extends Agent {
  readonly #connect: () => Promise<Socket>;

  constructor(connect: () => Promise<Socket>) {
    super({ keepAlive: true });
    this.#connect = connect;
  }

  override createConnection(
    _options: unknown,
    created?: (error: Error | null, socket: Socket) => void,
  ): undefined {
    this.#connect().then(
      (socket) => created?.(null, socket),
      (error) => created?.(error, undefined as never),
    );
    return undefined;
  }
}
