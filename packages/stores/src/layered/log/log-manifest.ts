/**
 * `layer.json`, the one file of the folder that says which log lies over which base, and where the
 * log begins. It is replaced in one step, after the step that makes its contents true: a new
 * segment, or a new base in its place.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, writeAtomically } from '@bloomery/files';
import { LayerError } from '../layer-error.ts';

export interface LogManifest {
  /** The random name of the log, in hexadecimal digits. */
  readonly log: string;
  /** The identity of the base; empty if the base has none. */
  readonly base: string;
  /** Position at which the log begins; everything before was merged. */
  readonly start: number;
}

const NAME = 'layer.json';
const FORMAT = 'bloomery layer';
const VERSION = 1;
const MOST_BYTES = 65_536;

/** Reads the manifest, or returns undefined if there is none. */
export function readManifest(folder: string): LogManifest | undefined {
  const path = join(folder, NAME);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  const found = text.length <= MOST_BYTES ? parse(text) : undefined;
  if (found?.format !== FORMAT)
    throw new LayerError('format', `Cannot read ${path}: expected the manifest of a layer, got other bytes`);
  if (found.version !== VERSION)
    throw new LayerError('format', `Cannot read ${path}: expected version ${VERSION}, got ${found.version}`);
  const { log, base, start } = found as Partial<LogManifest>;
  const isSound =
    /^[0-9a-f]{32}$/.test(log ?? '') &&
    typeof base === 'string' &&
    Number.isSafeInteger(start) &&
    start! >= 0;
  if (!isSound)
    throw new LayerError(
      'damaged',
      `Cannot read ${path}: expected a log, a base and a start, got other fields (offset 0)`,
      { offset: 0 },
    );
  return { log: log!, base: base!, start: start! };
}

export function writeManifest(folder: string, { log, base, start }: LogManifest): void {
  const text = JSON.stringify({ format: FORMAT, version: VERSION, log, base, start }, null, 2);
  writeAtomically(join(folder, NAME), Buffer.from(`${text}\n`));
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
