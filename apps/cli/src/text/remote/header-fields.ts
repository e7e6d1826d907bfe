/** The fields of `--header`: "Name: value", or `@FILE` with one of them in each line. */

import { readFileSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { UsageError } from '../../usage-error.ts';

/** Values are credentials as a rule, so that messages do not repeat them. */
export function headersOf(given: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  const lines = given.flatMap((value) =>
    value.startsWith('@') ? readFileSync(value.slice(1), 'utf8').split(/\r?\n/) : [value],
  );
  for (const line of lines) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim();
    try {
      validateHeaderName(name);
      validateHeaderValue(name, line.slice(colon + 1).trim());
    } catch (error) {
      throw new UsageError('--header is no field; write --header "Name: value"', { cause: error });
    }
    headers[name.toLowerCase()] = line.slice(colon + 1).trim();
  }
  return headers;
}
