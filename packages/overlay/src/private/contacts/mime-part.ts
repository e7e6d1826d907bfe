/**
 * A filter as a part of a mail (RFC 2045 and 2046): attached to a mail that is about to be sent,
 * and found in one that came. A mail is a text of bytes, one character each (latin1).
 */

import { fieldValues, type MailHead, parseHead } from './mail-head.ts';

/** The media type of a sealed filter. */
export const SHARE_TYPE = 'application/vnd.bloomery.contacts';

/** Parts inside parts, and parts in all, that are looked at. A mail with more has none for us. */
const MOST_DEPTH = 8;
const MOST_PARTS = 200;
/** Characters of the part of a filter: 4 MiB in base64, with line breaks. */
const MOST_PART_CHARACTERS = 6 * 1024 * 1024;

/**
 * The mail with one more part. A mail of the type multipart/mixed gets it at its end. Any other is
 * wrapped whole, so that signatures inside stay valid. `boundary` is random, and not in the mail.
 */
export function attachPart(mail: string, content: Uint8Array, boundary: string): string {
  const head = parseHead(mail);
  const { lineEnd } = head;
  const own = mixedBoundary(head);
  const part = partText(content, lineEnd);
  if (own !== null) {
    const end = head.body.lastIndexOf(`${lineEnd}--${own}--`);
    if (end >= 0) {
      const before = head.fields.map(({ raw }) => raw).join('') + head.body.slice(0, end);
      return `${before}${lineEnd}--${own}${lineEnd}${part}${head.body.slice(end)}`;
    }
  }
  const inner = head.fields.filter(({ name }) => /^content-/.test(name));
  const outer = head.fields.filter(({ name }) => !/^content-|^mime-version$/.test(name));
  return [
    ...outer.map(({ raw }) => raw),
    `MIME-Version: 1.0${lineEnd}`,
    `Content-Type: multipart/mixed; boundary="${boundary}"${lineEnd}${lineEnd}`,
    `--${boundary}${lineEnd}`,
    ...inner.map(({ raw }) => raw),
    head.body.startsWith(lineEnd) ? head.body : lineEnd,
    `${lineEnd}--${boundary}${lineEnd}`,
    part,
    `${lineEnd}--${boundary}--${lineEnd}`,
  ].join('');
}

function partText(content: Uint8Array, lineEnd: string): string {
  return [
    `Content-Type: ${SHARE_TYPE}; version=1`,
    'Content-Disposition: attachment; filename="contacts.share"',
    'Content-Transfer-Encoding: base64',
    '',
    ...(toBase64(content).match(/.{1,76}/g) ?? []),
  ].join(lineEnd);
}

/** The contents of the first part with a sealed filter, or null. It is untrusted. */
export function findPart(mail: string): Uint8Array | null {
  let left = MOST_PARTS;
  const search = (text: string, depth: number): Uint8Array | null => {
    if (depth > MOST_DEPTH || left-- <= 0) return null;
    const head = parseHead(text);
    const type = typeOf(head);
    if (type === SHARE_TYPE) return decoded(head);
    const boundary = /^multipart\//.test(type) ? boundaryOf(head) : null;
    if (boundary === null) return null;
    for (const part of partsOf(head.body, boundary)) {
      const found = search(part, depth + 1);
      if (found !== null) return found;
    }
    return null;
  };
  return search(mail, 0);
}

function* partsOf(body: string, boundary: string): Generator<string> {
  // RFC 2046, 5.1.1: the line break before a delimiter belongs to the delimiter.
  const delimiter = `\n--${boundary}`;
  const text = `\n${body}`;
  let at = text.indexOf(delimiter);
  while (at >= 0) {
    const start = at + delimiter.length;
    if (text.startsWith('--', start)) return;
    const line = text.indexOf('\n', start);
    const next = text.indexOf(delimiter, start);
    if (line < 0) return;
    yield text.slice(line + 1, next < 0 ? undefined : next);
    at = next;
  }
}

function decoded(head: MailHead): Uint8Array | null {
  const [encoding = ''] = fieldValues(head, 'content-transfer-encoding');
  if (encoding.trim().toLowerCase() !== 'base64') return null;
  // A longer part is no filter that could be opened, and is not decoded.
  if (head.body.length > MOST_PART_CHARACTERS) return null;
  return fromBase64(head.body.replaceAll(/[^A-Za-z0-9+/]/g, ''));
}

function typeOf(head: MailHead): string {
  return (fieldValues(head, 'content-type')[0] ?? 'text/plain').split(';', 1)[0].trim().toLowerCase();
}

function boundaryOf(head: MailHead): string | null {
  const [type = ''] = fieldValues(head, 'content-type');
  const match = /;\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type);
  return match === null ? null : (match[1] ?? match[2]);
}

/**
 * The boundary of a mail whose parts are independent. A quoted one has no backslash in practice.
 */
function mixedBoundary(head: MailHead): string | null {
  return typeOf(head) === 'multipart/mixed' ? boundaryOf(head) : null;
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i;
    const group = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    for (let j = 0; j < 4; j++) text += j > left ? '=' : DIGITS[(group >> (18 - 6 * j)) & 63];
  }
  return text;
}

function fromBase64(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.floor((text.length * 6) / 8));
  let bits = 0;
  let group = 0;
  let at = 0;
  for (const digit of text) {
    group = ((group << 6) | DIGITS.indexOf(digit)) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (group >> bits) & 255;
    }
  }
  return bytes;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
