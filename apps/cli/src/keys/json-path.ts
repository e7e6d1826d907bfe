/**
 * Paths into JSON values: names after dots, numbers in brackets, quoted names in brackets.
 * `.a.b[0]["c d"]`
 */

import { UsageError } from '../usage-error.ts';

export type JsonPath = readonly (string | number)[];

export function parseJsonPath(text: string): JsonPath {
  const steps: (string | number)[] = [];
  const rest = text === '.' ? '' : text.startsWith('$') ? text.slice(1) : text;
  const step = /\.?([^.[\]"\s]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/gy;
  while (step.lastIndex < rest.length) {
    const match = step.exec(rest);
    if (match === null) throw noPath(text);
    if (match[1] !== undefined) steps.push(match[1]);
    else if (match[2] !== undefined) steps.push(Number(match[2]));
    else steps.push(unquoted(match[3], text));
  }
  return steps;
}

function unquoted(name: string, text: string): string {
  try {
    return JSON.parse(`"${name}"`);
  } catch {
    throw noPath(text);
  }
}

function noPath(text: string): UsageError {
  return new UsageError(
    `--jsonl must be a path such as .user.id, tags[0] or ["a b"], got ${JSON.stringify(text)}`,
  );
}

/** The value at a path; undefined where there is none. An empty path is the value itself. */
export function fieldOf(value: unknown, path: JsonPath): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
