/**
 * The encodings of hunspell's dictionaries, as `SET` names them. The platform's TextDecoder knows
 * all of them except ISCII-DEVANAGARI, which no current dictionary uses. Its ISO8859-1 is
 * windows-1252, a superset without the control codes. A byte sequence that is invalid in the
 * encoding is an error if it is in a word, because half of a word is worse than a message.
 */

import { eachLine } from 'bloomery';
import { SpellingError } from './spelling-error.ts';

/** Decodes bytes by hunspell's name of the encoding. For UTF-8 see `decodeWithBytes`. */
export function decodeText(bytes: Uint8Array, encoding: string, what: string): string {
  if (isUtf8(encoding)) return decodeWithBytes(bytes);
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(standardName(encoding), { fatal: true });
  } catch {
    throw new SpellingError(
      'encoding',
      `${what}: the encoding ${JSON.stringify(encoding)} is not known here`,
    );
  }
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new SpellingError('encoding', `${what} is not ${encoding} text, as it should be`, undefined, {
      cause: error,
    });
  }
}

/**
 * Decodes UTF-8 that may contain single bytes that are not UTF-8, because some dictionaries
 * (Hungarian) write flags as bytes. Such a byte b becomes the lone surrogate U+DC00 + b, which no
 * text has; `bytesOf` turns it back.
 */
function decodeWithBytes(bytes: Uint8Array): string {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let text = '';
  for (const line of eachLine(bytes)) {
    try {
      text += strict.decode(line);
    } catch {
      text += decodeLine(line, strict);
    }
    text += '\n';
  }
  return text.slice(0, bytes.at(-1) === 10 ? undefined : -1);
}

/** The bytes of a text that may contain such bytes, each as a separate character. */
export function bytesOf(text: string): string[] {
  return [...text].flatMap((letter) => {
    const code = letter.codePointAt(0)!;
    if (code < 0x80) return letter;
    if (code >= 0xdc80 && code <= 0xdcff) return String.fromCharCode(code - 0xdc00);
    return [...new TextEncoder().encode(letter)].map((byte) => String.fromCharCode(byte));
  });
}

/** Whether a text contains such bytes. */
export function hasBytes(text: string): boolean {
  return /[\udc80-\udcff]/u.test(text);
}

function decodeLine(line: Uint8Array, strict: InstanceType<typeof TextDecoder>): string {
  let text = '';
  for (let at = 0; at < line.length; ) {
    const byte = line[at];
    const length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    try {
      text += strict.decode(line.subarray(at, at + length));
      at += length;
    } catch {
      text += String.fromCharCode(0xdc00 + byte);
      at++;
    }
  }
  return text;
}

export function isUtf8(encoding: string): boolean {
  return /^utf-?8$/i.test(encoding);
}

/** The name of the encoding in the WHATWG Encoding Standard. */
function standardName(encoding: string): string {
  const name = encoding.toLowerCase().replace(/^microsoft-/, '');
  const part = /^iso-?8859-?(\d+)$/.exec(name);
  if (part !== null) return `iso-8859-${part[1]}`;
  if (/^cp125\d$/.test(name)) return `windows-${name.slice(2)}`;
  if (name === 'tis620-2533' || name === 'tis620') return 'windows-874';
  return name;
}
