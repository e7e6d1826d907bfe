/**
 * One GET for an object with known bytes, judged while it arrives. An answer that ends before its
 * length, or whose connection breaks, is *broken*, and the client can see that. An answer that ends
 * as if it were whole, and has a wrong byte or a wrong length, is *wrong*: the one thing that no
 * fault may cause.
 */

import { type Agent, type IncomingMessage, request } from 'node:http';
import { firstWrongByte, knownSize } from '../origins/known-body.ts';

const ANSWER_MS = 120_000;

export interface CheckedAnswer {
  /** The status, or 0 if there was no answer. */
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: number;
  /** True if the answer ended as HTTP says that it ends. */
  readonly isWhole: boolean;
  /** The fault of an answer that looks whole, or null. */
  readonly wrong: string | null;
  /** True if a wrong byte came, also in an answer that broke off later. */
  readonly isDamaged: boolean;
  /** Time to the first byte of the body, or to the end if there was none. */
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export interface CheckedGetOptions {
  readonly agent?: Agent;
  readonly headers?: Readonly<Record<string, string>>;
  /** Part of the target after the path, with its question mark. */
  readonly query?: string;
  /** Told of each piece, with the bytes so far. */
  readonly onBytes?: (bytes: number) => void;
}

/** Asks a server on this machine, and never rejects. */
export function checkedGet(
  port: number,
  path: string,
  options: CheckedGetOptions = {},
): Promise<CheckedAnswer> {
  const began = performance.now();
  return new Promise((resolve) => {
    const { agent = false, headers = {}, query = '', onBytes } = options;
    const asked = request({ host: '127.0.0.1', port, path: path + query, agent, headers: { ...headers } });
    let answer: IncomingMessage | null = null;
    let bytes = 0;
    let firstByteMs: number | null = null;
    let fault: string | null = null;
    const timer = setTimeout(() => asked.destroy(new Error('no answer')), ANSWER_MS);
    const settle = () => {
      clearTimeout(timer);
      const totalMs = performance.now() - began;
      const status = answer?.statusCode ?? 0;
      const isWhole = answer?.complete ?? false;
      if (isWhole && status === 200 && bytes !== knownSize(path))
        fault ??= `expected ${knownSize(path)} bytes of ${path}, got ${bytes} and a clean end`;
      resolve({
        status,
        headers: answer?.headers ?? {},
        bytes,
        isWhole,
        wrong: isWhole ? fault : null,
        isDamaged: fault !== null,
        firstByteMs: firstByteMs ?? totalMs,
        totalMs,
      });
    };
    asked.on('response', (response) => {
      answer = response;
      const start = firstOffset(response);
      response.on('data', (piece: Buffer) => {
        firstByteMs ??= performance.now() - began;
        const place = start === null ? null : firstWrongByte(path, start + bytes, piece);
        if (place !== null)
          fault ??= `wrong byte at ${place} of ${path} (${response.headers['cache-status']})`;
        bytes += piece.length;
        onBytes?.(bytes);
      });
      response.on('error', () => {});
    });
    asked.on('error', () => {});
    asked.on('close', settle);
    asked.end();
  });
}

/** Offset of the first byte of an answer in the object, or null if the body is a message. */
function firstOffset(response: IncomingMessage): number | null {
  if (response.statusCode === 200) return 0;
  if (response.statusCode !== 206) return null;
  return Number(/^bytes (\d+)-/.exec(response.headers['content-range'] ?? '')?.[1] ?? Number.NaN);
}
