/**
 * Opens the base of a layer by its name on the command line: `sqlite:FILE`, a URL of PostgreSQL, or
 * an HTTP URL with `{key}` in it. Values are texts.
 */

import {
  type Base,
  httpBase,
  LayerError,
  postgresBase,
  type SqliteConstructor,
  sqliteBase,
  textValues,
} from '@bloomery/stores/layered';
import { connect, loadLibsql } from '../joining/open-side.ts';
import { UsageError } from '../usage-error.ts';

export interface BaseOptions {
  readonly base: string;
  readonly table?: string;
  readonly key: string;
  readonly value: string;
}

export async function openBase({ base, table, key, value }: BaseOptions): Promise<Base<string>> {
  const values = textValues;
  if (/^https?:\/\//.test(base)) {
    if (table !== undefined) throw new UsageError(`--base ${base} is no database; --table does not fit`);
    if (!base.includes('{key}'))
      throw new UsageError(
        `--base ${base} lacks {key}; give a URL such as https://example.org/records/{key}`,
      );
    return httpBase({ url: base, values });
  }
  const isPostgres = /^postgres(ql)?:\/\//.test(base);
  if (!isPostgres && !base.startsWith('sqlite:'))
    throw new UsageError(`--base ${base} is not known; give sqlite:FILE, postgres://… or https://…/{key}`);
  if (table === undefined) throw new UsageError('--base is a database; --table names its table');
  if (!isPostgres) {
    const Database = loadLibsql('--base') as unknown as SqliteConstructor;
    return sqliteBase({ path: base.slice('sqlite:'.length), Database, table, key, value, values });
  }
  const client = await connect(base, '--base');
  return {
    ...postgresBase({ client: client as never, table, key, value, values }),
    close: () => client.end(),
  };
}

/** The error in the words of the command; other errors stay as they are. */
export function layerWords(error: unknown): unknown {
  if (error instanceof LayerError)
    return new UsageError(`${error.message}; nothing was changed`, { cause: error });
  const { code, message } = error as { code?: unknown; message?: string };
  return code === 'held' ? new UsageError(`${message}; try again when it is done`, { cause: error }) : error;
}
