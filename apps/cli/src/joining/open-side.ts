/**
 * Opens one side of a join by its name on the command line: a URL of PostgreSQL, `sqlite:FILE`, a
 * CSV file or a file of JSON lines.
 *
 * The client of PostgreSQL is part of the command. `libsql` has compiled parts for each platform,
 * so it is loaded if it is installed.
 */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { csv, type JoinSide, jsonl, type PostgresClient, postgres, sqlite } from '@bloomery/stores/join';
import { UsageError } from '../usage-error.ts';
import { withoutPassword } from './without-password.ts';

export interface SideOptions {
  /** `--near` or `--far`, for messages. */
  readonly option: string;
  readonly table?: string | undefined;
  readonly where?: string | undefined;
}

export interface OpenSide {
  readonly side: JoinSide;
  close(): Promise<void>;
}

const CONNECT_MS = 10_000;

export async function openSide(source: string, options: SideOptions): Promise<OpenSide> {
  if (/^postgres(ql)?:\/\//.test(source)) return openPostgres(source, options);
  if (source.startsWith('sqlite:')) return openSqlite(source.slice('sqlite:'.length), options);
  const { option, table, where } = options;
  const make = /\.csv$/i.test(source) ? csv : /\.(jsonl|ndjson)$/i.test(source) ? jsonl : undefined;
  if (make === undefined) {
    throw new UsageError(
      `${option} ${withoutPassword(source)} is not known; give postgres://…, sqlite:FILE, FILE.csv or FILE.jsonl`,
    );
  }
  if (table !== undefined || where !== undefined)
    throw new UsageError(
      `${option} ${source} is a file; ${option}-table and ${option}-where are for databases`,
    );
  if (!existsSync(source)) throw new UsageError(`${option} ${source} does not exist`);
  return { side: make(source), close: async () => {} };
}

function needTable(source: string, { option, table }: SideOptions): string {
  if (table === undefined)
    throw new UsageError(`${option} ${withoutPassword(source)} needs ${option}-table, the name of its table`);
  return table;
}

async function openPostgres(source: string, options: SideOptions): Promise<OpenSide> {
  const table = needTable(source, options);
  const client = await connect(source, options.option);
  const side = postgres({ client, table, where: options.where });
  return { side, close: () => client.end() };
}

type ClientClass = new (config: object) => Client;

interface Client extends PostgresClient {
  connect(): Promise<void>;
  end(): Promise<void>;
  on(event: 'error', take: (error: Error) => void): void;
}

export async function connect(source: string, option: string): Promise<Client> {
  // The package's main file asks for optional native parts, which cannot be bundled.
  const PgClient = createRequire(import.meta.url)('pg/lib/client.js') as ClientClass;
  const client = makeClient(PgClient, source, option);
  // A server that goes away in the middle also rejects the query under way, and that is reported.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (cause) {
    const { message, code } = cause as Error & { code?: string };
    const reason = message || code || 'no reason was given';
    throw new UsageError(`${option} ${withoutPassword(source)} cannot be reached: ${reason}`, { cause });
  }
}

function makeClient(PgClient: ClientClass, source: string, option: string): Client {
  try {
    return new PgClient({ connectionString: source, connectionTimeoutMillis: CONNECT_MS });
  } catch {
    // The error of the parser holds the whole URL, so it is not passed on as a cause.
    throw new UsageError(
      `${option} ${withoutPassword(source)} is not a URL of PostgreSQL; write special characters of a password as %40`,
    );
  }
}

function openSqlite(path: string, options: SideOptions): OpenSide {
  const table = needTable(`sqlite:${path}`, options);
  if (!existsSync(path)) throw new UsageError(`${options.option} ${path} does not exist`);
  const Database = loadLibsql(options.option);
  const database = new Database(path, { readonly: true });
  return {
    side: sqlite({ database, table, where: options.where }),
    close: async () => void database.close(),
  };
}

type SqliteClass = new (
  path: string,
  options: object,
) => Parameters<typeof sqlite>[0]['database'] & { close(): void };

/** Finds libsql beside the working directory or beside the command. */
export function loadLibsql(option: string): SqliteClass {
  const name = 'libsql';
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      const load = createRequire(from);
      return load(name) as SqliteClass;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new UsageError(`${option} sqlite: needs the npm package libsql; npm install libsql`);
}
