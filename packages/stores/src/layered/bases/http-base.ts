/**
 * An HTTP resource for each record as a base: `GET` of a URL with the key in it. 404 and 410 mean
 * that there is no record; any other answer than 200 is an error, never an absent record. The body
 * is read up to a limit.
 */

import type { Abortable, Base } from '../base.ts';
import { LayerError } from '../layer-error.ts';
import { bytesValues, type Values } from '../values.ts';

export interface HttpBaseOptions<V> {
  /** The URL of a record; `{key}` stands for the key, percent-encoded. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How values are read from the bytes of a body. Default: they are bytes. */
  readonly values?: Values<V> | undefined;
  /** Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Bodies above this size are refused. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
}

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 64 * 1024 * 1024;
const PLACE = '{key}';

export function httpBase<V = Uint8Array>(options: HttpBaseOptions<V>): Base<V> {
  const { url, headers = {}, timeoutMs = TIMEOUT_MS, maxBytes = MOST_BYTES } = options;
  const values = options.values ?? (bytesValues as unknown as Values<V>);
  if (!url.includes(PLACE))
    throw new RangeError(`Cannot read a base: expected a URL with ${PLACE} in it, got ${url}`);
  return {
    async get(key, { signal }: Abortable = {}) {
      const place = url.replaceAll(PLACE, () => encodeURIComponent(key));
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const response = await fetch(place, {
          headers,
          signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        });
        if (response.status === 200) return values.decode(await bodyOf(response, place, maxBytes));
        await response.body?.cancel();
        if (response.status === 404 || response.status === 410) return undefined;
        throw refusal(place, `status 200 or 404, got ${response.status}`);
      } catch (error) {
        if (error instanceof LayerError || signal?.aborted) throw error;
        if (error === timeout.reason) throw refusal(place, `an answer within ${timeoutMs / 1000} s`, error);
        const { cause } = error as { cause?: NodeJS.ErrnoException };
        throw refusal(place, `an answer, got ${cause?.code ?? (error as Error).message}`, error);
      }
    },
    // The URL without user, password and query, because the log is not a place for secrets.
    identity: () => `http:${url.replace(/\/\/[^/@]*@/, '//').replace(/\?.*/, '')}`,
  };
}

async function bodyOf(response: Response, place: string, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > maxBytes) throw refusal(place, `at most ${maxBytes} bytes, got more`);
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function refusal(place: string, what: string, cause?: unknown): LayerError {
  const clean = place.replace(/\/\/[^/@]*@/, '//').replace(/\?.*/, '');
  return new LayerError('base', `Cannot read the base ${clean}: expected ${what}`, { cause });
}
