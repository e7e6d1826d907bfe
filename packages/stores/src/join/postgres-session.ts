/**
 * Statements on a client of `pg` that belongs to the caller. Values come as texts.
 *
 * Rows come through a cursor in a read-only transaction, so that a large answer does not fill the
 * memory. If the client is in a transaction of the caller, a savepoint takes its place: the
 * caller's changes stay, and the join sees them.
 *
 * A signal ends the wait at once. The statement that runs goes on at the server, because a client
 * of `pg` cannot cancel it, and the next one on this client waits for it. A caller that gives up
 * for good ends the client.
 */

import { abortable } from '../guard/abortable.ts';
import { copyRows } from './copy-text.ts';
import type { ReadOptions, Row } from './join-side.ts';

/** The part of a client of `pg` that a join uses. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: unknown[] }>;
}

interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  readonly rowMode?: 'array';
  readonly types?: { getTypeParser(): (value: string) => string };
}

/** The function `to` of pg-copy-streams. */
export type CopyTo = (sql: string) => AsyncIterable<Uint8Array>;

const BATCH = 10_000;
const RAW = { getTypeParser: () => (value: string) => value };
/** A cursor is planned for its first rows by default, and all of them are wanted here. */
const SETTINGS = "set local cursor_tuple_fraction = 1; set local bytea_output = 'hex'";

export class PostgresSession {
  readonly #client: PostgresClient;

  constructor(client: PostgresClient) {
    this.#client = client;
  }

  /** The rows of a statement, all at once. */
  async rows(text: string, values: unknown[] = [], { signal }: ReadOptions = {}): Promise<string[][]> {
    signal?.throwIfAborted();
    const query = this.#client.query({ text, values, rowMode: 'array', types: RAW });
    return (await abortable(query, signal)).rows as string[][];
  }

  /** The rows of a query in batches, through a cursor. */
  async *cursor(text: string, values: unknown[], options: ReadOptions): AsyncGenerator<readonly Row[]> {
    yield* this.#inTransaction(options, async function* (session) {
      await session.rows(`declare bloomery_join no scroll cursor for ${text}`, values, options);
      for (;;) {
        const batch = await session.rows(`fetch ${BATCH} from bloomery_join`, [], options);
        if (batch.length > 0) yield batch as readonly Row[];
        if (batch.length < BATCH) break;
      }
    });
  }

  /** The rows of a query in batches, by COPY. */
  async *copy(query: string, to: CopyTo, options: ReadOptions): AsyncGenerator<readonly Row[]> {
    const client = this.#client as unknown as { query(stream: unknown): AsyncIterable<Uint8Array> };
    let isRead = false;
    const isBusy = () => !isRead;
    yield* this.#inTransaction({ ...options, isBusy }, async function* () {
      yield* copyRows(client.query(to(`copy (${query}) to stdout`)), options);
      isRead = true;
    });
  }

  async *#inTransaction(
    { signal, isBusy = () => signal?.aborted === true }: ReadOptions & { isBusy?: () => boolean },
    work: (session: PostgresSession) => AsyncGenerator<readonly Row[]>,
  ): AsyncGenerator<readonly Row[]> {
    // Outside of a transaction each statement is one of its own, and both times are the same.
    const [[isOutside]] = await this.rows('select now() = statement_timestamp()', [], { signal });
    const [begin, end] =
      isOutside === 't'
        ? ['begin transaction read only', 'rollback']
        : ['savepoint bloomery_join', 'rollback to savepoint bloomery_join; release savepoint bloomery_join'];
    await this.rows(begin);
    try {
      await this.rows(SETTINGS);
      yield* work(this);
    } finally {
      // The connection may be gone, and the error that told it is the one to report.
      const ended = this.rows(end).catch(() => {});
      // A statement that was given up still runs, and a COPY that was not read never ends.
      if (!isBusy()) await ended;
    }
  }
}
