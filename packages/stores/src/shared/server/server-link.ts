/**
 * The connection of a `ServerFilter`: it opens when it is needed, looks at the filter now and then,
 * and knows whether answers of the server count. A broken connection is not used again, and the
 * next one begins with a look, so every call goes to a server that this process has looked at.
 */

import { reconnectPauseMs } from '../decisions/member-rules.ts';
import { serverStage } from '../decisions/split-blocks.ts';
import { Pause } from '../pause.ts';
import type { RedisConnection } from '../redis/redis-client.ts';
import { textOf } from '../redis/replies.ts';
import { SharedFilterError } from '../shared-filter-error.ts';
import type { ServerEngine, ServerVerdict } from './server-filter.ts';
import { SetFunctions } from './set-functions.ts';

export interface LinkSettings {
  /** The key of the description; the other keys begin with it. */
  readonly key: string;
  readonly scheme: string;
  readonly open: () => Promise<RedisConnection>;
  readonly usesScripts: boolean;
  /** The replicas that an answer waits for; 0 for none. */
  readonly replicas: number;
  readonly settleMs: number;
  readonly lookMs: number;
  readonly onError: (error: Error) => void;
  /** Makes an empty filter that takes the place of the one with this lineage ('' for none). */
  readonly make: (functions: SetFunctions, accepted: string) => Promise<void>;
}

export interface ServerFilterFacts {
  readonly engine: ServerEngine;
  readonly stages: number;
  readonly size: number;
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

const NO_FACTS: ServerFilterFacts = {
  engine: 'blocks',
  stages: 0,
  size: 0,
  capacity: 0,
  falsePositiveRate: 0,
};
/** Time for one WAIT, which is repeated until the replicas have the keys. */
const WAIT_MS = 1000;

interface Session {
  readonly connection: RedisConnection;
  readonly functions: SetFunctions;
}

export class ServerLink {
  readonly #settings: LinkSettings;
  readonly #pause = new Pause();
  #session: Promise<Session> | null = null;
  /** The connection of the session, once it is open. */
  #connection: RedisConnection | null = null;
  #lineage = '';
  #server = '';
  /** The last count of calls that the server told. It never falls, unless the server lost some. */
  #calls = 0;
  #verdict: ServerVerdict = 'away';
  #facts = NO_FACTS;
  #isClosed = false;
  readonly #watchers = new Set<() => void>();

  constructor(settings: LinkSettings) {
    this.#settings = settings;
  }

  get verdict(): ServerVerdict {
    return this.#isClosed ? 'away' : this.#verdict;
  }

  get facts(): ServerFilterFacts {
    return this.#facts;
  }

  /** Looks at the server every `lookMs` until the link is closed. */
  async run(): Promise<void> {
    for (let attempt = 0; !this.#isClosed; ) {
      try {
        await this.look();
        attempt = 0;
      } catch (error) {
        attempt++;
        this.#settings.onError(error as Error);
      }
      const { lookMs } = this.#settings;
      await this.#pause.wait(attempt === 0 ? lookMs : reconnectPauseMs(attempt, Math.random()));
    }
  }

  async look(): Promise<void> {
    const { connection, functions } = await this.#open();
    await this.#onConnection(connection, () => this.#look(functions));
  }

  /** One claim or question. Returns the answers, or null where every answer is "maybe". */
  async step(name: 'claim' | 'ask', packed: Uint8Array, keys: number): Promise<string | null> {
    const { connection, functions } = await this.#open();
    return this.#onConnection(connection, async () => {
      let answers = '';
      for (let calls = 0; answers.length < keys; ) {
        if (this.#verdict !== 'ok') return null;
        const lineage = this.#lineage;
        const rest = packed.subarray((packed.length / keys) * answers.length);
        const words = [this.#settings.key, lineage, this.#server, rest];
        const reply = (await functions.call(name, this.#settings.key, words)) as unknown[];
        const [verdict, said, count, stages] = reply.map(textOf);
        if (verdict !== 'ok') {
          this.#judged(verdict as ServerVerdict);
          return null;
        }
        answers += said;
        if (name === 'ask') return answers;
        calls = Number(count);
        if (answers.length < keys) await this.#grow(functions, lineage, Number(stages));
        else await this.#confirm(connection, lineage, calls);
      }
      return answers;
    });
  }

  async accept(): Promise<void> {
    const { connection, functions } = await this.#open();
    await this.#onConnection(connection, async () => {
      const [, , facts] = (await this.#ask(functions)) as unknown[];
      await this.#settings.make(functions, textOf((facts as unknown[])[0]) || this.#lineage);
      this.#lineage = '';
      this.#calls = 0;
      await this.#look(functions);
    });
  }

  async ready(timeoutMs?: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let watcher = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        watcher = () => {
          if (this.#isClosed) reject(new SharedFilterError('closed', 'Cannot wait: the filter was closed'));
          else if (this.#verdict === 'ok') resolve();
          else if (this.#verdict === 'doubted' || this.#verdict === 'missing')
            reject(lostError(this.#verdict));
        };
        this.#watchers.add(watcher);
        if (timeoutMs !== undefined) {
          const late = `Cannot wait any longer: expected a live filter within ${timeoutMs} ms`;
          timer = setTimeout(() => reject(new SharedFilterError('timeout', late)), timeoutMs);
        }
        watcher();
      });
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#pause.poke();
    const session = this.#session;
    this.#session = null;
    session?.then(({ connection }) => connection.close()).catch(() => {});
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** The session, which has looked at the server. */
  async #open(): Promise<Session> {
    if (this.#isClosed) throw new SharedFilterError('closed', 'Cannot use the filter: it was closed');
    this.#session ??= this.#begin();
    const session = this.#session;
    try {
      return await session;
    } catch (error) {
      if (this.#session === session) {
        this.#session = null;
        this.#judged('away');
      }
      throw error;
    }
  }

  async #begin(): Promise<Session> {
    const connection = await this.#settings.open();
    const session = { connection, functions: new SetFunctions(connection, this.#settings.usesScripts) };
    try {
      await this.#look(session.functions);
      this.#connection = connection;
      return session;
    } catch (error) {
      connection.close();
      throw asUnavailable(error);
    }
  }

  /** Runs a call. If it fails, the connection is given up: the answer may be anything. */
  async #onConnection<T>(connection: RedisConnection, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SharedFilterError && error.code !== 'unavailable') throw error;
      connection.close();
      // The first call that fails on a connection gives it up; the others find another one.
      if (this.#connection === connection) {
        this.#session = null;
        this.#connection = null;
        this.#judged('away');
      }
      throw asUnavailable(error);
    }
  }

  async #ask(functions: SetFunctions): Promise<unknown> {
    const { key, settleMs } = this.#settings;
    return functions.call('look', key, [key, this.#lineage, String(this.#calls), String(settleMs)]);
  }

  async #look(functions: SetFunctions): Promise<void> {
    const [verdict, server, facts] = (await this.#ask(functions)) as [unknown, unknown, unknown[]];
    this.#server = textOf(server);
    if (facts.length > 0) {
      const [lineage, scheme, capacity, rate, engine, stages, size, calls] = facts.map(textOf);
      if (scheme !== this.#settings.scheme) throw schemeError(this.#settings.scheme, scheme);
      if (lineage !== this.#lineage) this.#calls = 0;
      // With 'wait', calls that the replicas may not have yet do not count as known.
      if (this.#settings.replicas === 0) this.#calls = Math.max(this.#calls, Number(calls));
      this.#lineage = lineage;
      this.#facts = {
        engine: engine as ServerEngine,
        stages: Number(stages),
        size: Number(size),
        capacity: Number(capacity),
        falsePositiveRate: Number(rate),
      };
    }
    this.#judged(textOf(verdict) as ServerVerdict);
  }

  async #grow(functions: SetFunctions, lineage: string, stages: number): Promise<void> {
    const { key } = this.#settings;
    const { blocks, capacity } = serverStage(this.#facts, stages);
    const words = [key, lineage, String(stages + 1), String(blocks), String(capacity)];
    await functions.call('grow', key, words);
  }

  /** Waits for the replicas, and then knows of this call and of all calls before it. */
  async #confirm(connection: RedisConnection, lineage: string, calls: number): Promise<void> {
    const { replicas } = this.#settings;
    if (replicas > 0)
      while (Number(await connection.call(['WAIT', String(replicas), String(WAIT_MS)])) < replicas);
    if (lineage === this.#lineage) this.#calls = Math.max(this.#calls, calls);
  }

  #judged(verdict: ServerVerdict): void {
    if (verdict === this.#verdict) return;
    this.#verdict = verdict;
    for (const watcher of [...this.#watchers]) watcher();
  }
}

function lostError(verdict: ServerVerdict): SharedFilterError {
  const what = verdict === 'missing' ? 'none' : 'one that lost keys';
  return new SharedFilterError(
    'lost',
    `Cannot use the filter on the server: expected a whole one, got ${what} (accept() begins an empty one)`,
  );
}

function schemeError(expected: string, got: string): SharedFilterError {
  return new SharedFilterError(
    'scheme',
    `Cannot use the filter on the server: expected hashes by ${expected}, got a filter by ${got}`,
  );
}

function asUnavailable(error: unknown): SharedFilterError {
  if (error instanceof SharedFilterError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new SharedFilterError('unavailable', `Cannot ask the filter on the server: ${reason}`, {
    cause: error,
  });
}
