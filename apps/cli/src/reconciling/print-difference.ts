/**
 * Prints a difference: `< key` for a key of the first side alone, `> key` for one of the second, as
 * diff marks lines, or one of the two kinds without marks. Keys are printed as bytes. A key with a
 * newline in it would look like two lines, and the other side could forge lines by it, so it is
 * refused; `--null` and `--json` can print it.
 */

import { isUtf8 } from 'node:buffer';
import { LineWriter } from '../checking/line-writer.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import type { KeyDifference } from './key-difference.ts';

export interface PrintOptions {
  readonly onlyHere?: boolean | undefined;
  readonly onlyThere?: boolean | undefined;
  readonly count?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly stats?: boolean | undefined;
  readonly null?: boolean | undefined;
}

export function printDifference(difference: KeyDifference, options: PrintOptions): void {
  const { onlyHere, onlyThere, onlyThereCount, cost } = difference;
  const showsHere = !options.onlyThere;
  const showsThere = !options.onlyHere;
  if (options.json) {
    const listed = !options.count;
    writeJson({
      equal: onlyHere.length + onlyThereCount === 0,
      onlyHereCount: onlyHere.length,
      onlyThereCount,
      ...(listed && showsHere ? { onlyHere: onlyHere.map(jsonKey) } : {}),
      ...(listed && showsThere ? { onlyThere: onlyThere?.map(jsonKey) ?? null } : {}),
      ...cost,
    });
    return;
  }
  if (options.count) {
    const marked = showsHere && showsThere;
    if (showsHere) writeLine(`${marked ? '< ' : ''}${onlyHere.length}`);
    if (showsThere) writeLine(`${marked ? '> ' : ''}${onlyThereCount}`);
  } else {
    const end = options.null ? 0 : NEWLINE;
    // All keys are looked at before the first is printed.
    const lists = [
      ...(showsHere ? [onlyHere] : []),
      ...(showsThere && onlyThere !== null ? [onlyThere] : []),
    ];
    for (const keys of lists) for (const key of keys) refuseEnd(key, end);
    const marked = showsHere && showsThere;
    if (showsHere) writeKeys(onlyHere, end, marked ? '< ' : '');
    if (showsThere && onlyThere !== null) writeKeys(onlyThere, end, marked ? '> ' : '');
    if (showsThere && onlyThere === null && onlyThereCount > 0)
      warn(
        `the other side has ${formatCount(onlyThereCount)} keys that are not here, and does not send them (--no-keys)`,
      );
  }
  if (options.stats) process.stderr.write(`${statsText(difference)}\n`);
}

function writeKeys(keys: readonly Uint8Array[], end: number, mark: string): void {
  const writer = new LineWriter(end);
  const prefix = Buffer.from(mark);
  for (const key of keys) writer.add(Buffer.concat([prefix, key, Uint8Array.of(end)]));
  writer.flush();
}

function refuseEnd(key: Uint8Array, end: number): void {
  if (!key.includes(end)) return;
  const what = end === 0 ? 'zero byte' : 'newline';
  throw new UsageError(`a key has a ${what} in it; --json prints such keys`);
}

/** The line of `--stats`. */
function statsText({ onlyHere, onlyThereCount, cost }: KeyDifference): string {
  const { method, bytesSent, bytesReceived, roundTrips, attempts } = cost;
  const differences = onlyHere.length + onlyThereCount;
  const bytes = bytesSent + bytesReceived;
  const each = differences === 0 ? '' : `, ${(bytes / differences).toFixed(1)} per difference`;
  const again = attempts === 1 ? '' : `, ${attempts} attempts`;
  const trips = `at most ${formatCount(roundTrips)} round ${roundTrips === 1 ? 'trip' : 'trips'}`;
  return `${formatCount(differences)} differences by ${method}: ${formatBytes(bytesSent)} sent, ${formatBytes(bytesReceived)} received${each}; ${trips}${again}`;
}

function jsonKey(key: Uint8Array): string | { readonly base64: string } {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length);
  return isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString('base64') };
}

const NEWLINE = 10;
