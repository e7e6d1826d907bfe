/**
 * The same filter for people who stay in psql and join by postgres_fdw. The functions of the
 * condition are built in, so postgres_fdw sends the condition to the far server instead of fetching
 * the whole table.
 *
 * Two traps decide how the filter is passed on:
 *
 * - A filter that is read from a table is compressed or stored out of line (TOAST), and `get_bit`
 *   would unpack it for every row. As a parameter it is flat.
 * - With a custom plan PostgreSQL puts the parameter into the query as a literal, once for each
 *   `get_bit`. So `plan_cache_mode` must be `force_generic_plan`, and the statement prepared. Then
 *   postgres_fdw sends one parameter, as hexadecimal text of twice the size.
 */

import type { PushdownFilter } from './pushdown-filter.ts';

export interface FdwCondition {
  /** The condition, with the filter as `$1::bytea` or another parameter. */
  readonly text: string;
  /** The value of the parameter. */
  readonly parameter: Uint8Array<ArrayBuffer>;
  /** The statement that makes postgres_fdw send the filter once. It comes before the query. */
  readonly setup: string;
  /** Lines for psql: `query` with the condition in place of `$condition`, prepared and executed. */
  psql(query: string): string;
}

const SETUP = 'set plan_cache_mode = force_generic_plan';

/**
 * The condition for `columns`, SQL expressions that name the columns of the foreign table, such as
 * `f.email`.
 */
export function fdwCondition(
  filter: PushdownFilter,
  columns: string | readonly string[],
  parameter = '$1::bytea',
): FdwCondition {
  const text = filter.condition(typeof columns === 'string' ? [columns] : columns, parameter);
  return {
    text,
    parameter: filter.bytes,
    setup: SETUP,
    psql: (query) => {
      if (!query.includes('$condition'))
        throw new RangeError('Cannot write lines for psql: expected $condition in the query, got none');
      return [
        `${SETUP};`,
        `prepare joined(bytea) as ${query.replace('$condition', () => text)};`,
        `execute joined('\\x${hex(filter.bytes)}');`,
        'deallocate joined;',
        '',
      ].join('\n');
    },
  };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
