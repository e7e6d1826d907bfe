/** Reads changes as JSON lines: `{"key": …, "value": …}` or `{"key": …, "deleted": true}`. */

import { createReadStream } from 'node:fs';
import type { Change } from '@bloomery/stores/layered';
import { UsageError } from '../usage-error.ts';

/** A line above this length is refused: no change can be as long. */
const MOST_LINE = 128 * 1024 * 1024;

/** The changes of a file, or of standard input if its name is `-`. Empty lines are skipped. */
export async function* eachJsonLine(file: string): AsyncGenerator<Change<string>> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  input.setEncoding('utf8');
  const name = file === '-' ? 'standard input' : file;
  let rest = '';
  let number = 0;
  for await (const part of input as AsyncIterable<string>) {
    const lines = (rest + part).split('\n');
    rest = lines.pop()!;
    if (rest.length > MOST_LINE) throw new UsageError(`${name}, line ${number + lines.length + 1}: too long`);
    for (const line of lines) {
      number++;
      if (line.trim() !== '') yield changeOf(line, `${name}, line ${number}`);
    }
  }
  if (rest.trim() !== '') yield changeOf(rest, `${name}, line ${number + 1}`);
}

function changeOf(line: string, where: string): Change<string> {
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    found = undefined;
  }
  const { key, value, deleted } = (found ?? {}) as Record<string, unknown>;
  if (typeof key === 'string' && deleted === true && value === undefined) return { key, deleted: true };
  if (typeof key === 'string' && typeof value === 'string') return { key, value };
  throw new UsageError(
    `${where}: expected {"key": "…", "value": "…"} or {"key": "…", "deleted": true}, got ${line.slice(0, 80)}`,
  );
}
