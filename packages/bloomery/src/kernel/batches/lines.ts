/**
 * Lines of bytes: how many there are, and where each ends. This is for programs that process files
 * of keys and do not only look them up (`{ lines }` splits lines itself). A newline ends a line;
 * bytes after the last newline are one more line.
 *
 * WebAssembly processes 16 bytes at a time, mostly at the speed of copying the bytes there. Twin:
 * assembly/batches/lines.ts.
 */

import { NEWLINE } from '../../keys/lines.ts';
import { wasmKernel } from '../wasm/kernel-choice.ts';
import { WASM_POSSIBLE } from '../wasm/wasm-possible.ts';
import { LineKernel } from './lines-wasm.ts';

/** The number of lines, which is the number of keys in `{ lines: bytes }`. */
export function countLines(bytes: Uint8Array): number {
  const wasm = lineKernel(bytes);
  return (WASM_POSSIBLE && wasm !== null ? wasm.count(bytes) : countNewlines(bytes)) + unended(bytes);
}

/**
 * The end of each line, after its newline. The last line may have no newline and ends with the
 * bytes. Up to 4 GiB.
 */
export function lineEnds(bytes: Uint8Array): Uint32Array<ArrayBuffer> {
  const wasm = lineKernel(bytes);
  const newlines = WASM_POSSIBLE && wasm !== null ? wasm.count(bytes) : countNewlines(bytes);
  const ends = new Uint32Array(newlines + unended(bytes));
  if (WASM_POSSIBLE && wasm !== null) wasm.find(bytes, ends);
  else findNewlines(bytes, ends);
  if (unended(bytes) === 1) ends[newlines] = bytes.length;
  return ends;
}

function unended(bytes: Uint8Array): number {
  return bytes.length > 0 && bytes[bytes.length - 1] !== NEWLINE ? 1 : 0;
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === NEWLINE) count++;
  return count;
}

function findNewlines(bytes: Uint8Array, ends: Uint32Array): void {
  let found = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === NEWLINE) ends[found++] = i + 1;
}

let instance: LineKernel | undefined;

function lineKernel(bytes: Uint8Array): LineKernel | null {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('Cannot read keys: expected a Uint8Array of lines');
  if (bytes.length > 0xffffffff)
    throw new RangeError(`Cannot read lines: expected at most 4 GiB, got ${bytes.length} bytes`);
  if (!WASM_POSSIBLE || wasmKernel() === null) return null;
  return (instance ??= new LineKernel());
}
