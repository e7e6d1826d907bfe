/**
 * Base64 (RFC 4648) with padding, in both alphabets. It is strict: a text that it accepts is the
 * one that it would write, so a file that was read can be written back bit for bit.
 */

export type Base64Alphabet = 'url' | 'standard';

export function encodeBase64(bytes: Uint8Array, alphabet: Base64Alphabet): string {
  const digits = DIGITS + LAST_DIGITS[alphabet];
  const pieces: string[] = [];
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const group = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    text += digits[group >>> 18] + digits[(group >>> 12) & 63];
    text += i + 1 < bytes.length ? digits[(group >>> 6) & 63] : '=';
    text += i + 2 < bytes.length ? digits[group & 63] : '=';
    if (text.length > 8192) {
      pieces.push(text);
      text = '';
    }
  }
  return pieces.join('') + text;
}

/** The number of bytes that the text stands for, or -1 if base64 has no text of this length. */
export function base64Length(text: string): number {
  if (text.length % 4 !== 0) return -1;
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}

/**
 * Fills `target`, of `base64Length(text)` bytes. Returns the index of the first wrong character, or
 * -1.
 */
export function decodeBase64(text: string, alphabet: Base64Alphabet, target: Uint8Array): number {
  const values = valuesOf(alphabet);
  const end = Math.ceil((target.length * 4) / 3);
  let at = 0;
  let group = 0;
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i);
    const value = code < 128 ? values[code] : 255;
    if (value > 63) return i;
    group = (group << 6) | value;
    if (i % 4 > 0) target[at++] = group >>> (6 - 2 * (i % 4));
    if (i % 4 === 3) group = 0;
  }
  // The bits of the last digit beyond the last byte must be 0.
  const spare = end % 4 === 2 ? 15 : end % 4 === 3 ? 3 : 0;
  return (group & spare) === 0 ? -1 : end - 1;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const LAST_DIGITS = { url: '-_', standard: '+/' };

function valuesOf(alphabet: Base64Alphabet): Uint8Array {
  const values = new Uint8Array(128).fill(255);
  const digits = DIGITS + LAST_DIGITS[alphabet];
  for (let i = 0; i < 64; i++) values[digits.charCodeAt(i)] = i;
  return values;
}
