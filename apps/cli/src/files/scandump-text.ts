/**
 * Reads answers of BF.SCANDUMP as `redis-cli --no-raw` prints them, one after the other:
 *
 *     1) (integer) 1
 *     2) "\xe8\x03\x00…"
 *
 * A text is read only if all of it has this form. Anything else is another file.
 */

import type { RedisBloomChunk } from 'bloomery/formats/redisbloom';

const FIRST = /^\s*1\) \(integer\) \d/;
const LONGEST_HEAD = 64;

/** The chunks of such a text, or undefined if the bytes are another file. */
export function scandumpChunks(bytes: Uint8Array): RedisBloomChunk[] | undefined {
  const head = Buffer.from(bytes.subarray(0, LONGEST_HEAD)).toString('latin1');
  if (!FIRST.test(head)) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const chunks: RedisBloomChunk[] = [];
  for (let i = 0; i < lines.length; i += 2) {
    const [, iterator] = /^\s*1\) \(integer\) (\d{1,15})\r?$/.exec(lines[i]) ?? [];
    const [, quoted] = /^\s*2\) "(.*)"\r?$/.exec(lines[i + 1] ?? '') ?? [];
    const data = quoted === undefined ? undefined : unquoted(quoted);
    if (iterator === undefined || data === undefined) return undefined;
    // The last answer is empty.
    if (Number(iterator) !== 0) chunks.push({ iterator: Number(iterator), data });
  }
  return chunks;
}

/** The bytes of a text that redis-cli has escaped, or undefined if an escape is unknown. */
function unquoted(text: string): Uint8Array | undefined {
  const bytes = Buffer.alloc(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '\\') {
      bytes[length++] = text.charCodeAt(i);
      continue;
    }
    const sign = text[++i];
    if (sign === 'x' && /^[0-9a-f]{2}$/i.test(text.slice(i + 1, i + 3))) {
      bytes[length++] = Number.parseInt(text.slice(i + 1, i + 3), 16);
      i += 2;
    } else if (sign !== undefined && Object.hasOwn(ESCAPES, sign)) bytes[length++] = ESCAPES[sign];
    else return undefined;
  }
  return new Uint8Array(bytes.subarray(0, length));
}

const ESCAPES: Record<string, number> = { n: 10, r: 13, t: 9, a: 7, b: 8, '"': 34, '\\': 92 };
