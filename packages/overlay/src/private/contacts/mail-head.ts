/**
 * The head of a mail (RFC 5322, 2.2): fields, and where the body begins. A mail is a text of bytes,
 * one character each (latin1), so that it comes out as it went in.
 */

interface MailField {
  readonly name: string;
  /** The value, unfolded: line breaks before white space are removed. */
  readonly value: string;
  /** The field as it stands in the mail, with its line breaks. */
  readonly raw: string;
}

export interface MailHead {
  readonly fields: readonly MailField[];
  /** The empty line and everything after it. */
  readonly body: string;
  /** The line break of this mail. */
  readonly lineEnd: '\r\n' | '\n';
}

export function parseHead(mail: string): MailHead {
  const lineEnd = /^[^\n]*\r\n/.test(mail) ? '\r\n' : '\n';
  // A mailbox's "From " line is no field, and stays where it is.
  const lines = /[^\n]*\n|[^\n]+$/y;
  const fields: MailField[] = [];
  let raw = '';
  const close = () => {
    if (raw === '') return;
    const colon = raw.indexOf(':');
    const isField = colon > 0 && /^[!-9;-~]+[ \t]*$/.test(raw.slice(0, colon));
    fields.push({
      name: isField ? raw.slice(0, colon).trimEnd().toLowerCase() : '',
      value: isField
        ? asUtf8(
            raw
              .slice(colon + 1)
              .replaceAll(/\r?\n/g, '')
              .trim(),
          )
        : '',
      raw,
    });
    raw = '';
  };
  let at = 0;
  for (let line = lines.exec(mail); line !== null; line = lines.exec(mail)) {
    const [text] = line;
    if (/^\r?\n$/.test(text)) break;
    if (!/^[ \t]/.test(text) || raw === '') close();
    raw += text;
    at = lines.lastIndex;
  }
  close();
  return { fields, body: mail.slice(at), lineEnd };
}

/** The text of bytes that are UTF-8 (RFC 6532). Other texts stay as they are. */
function asUtf8(text: string): string {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  if (bytes.some((byte, i) => byte !== text.charCodeAt(i))) return text;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return text;
  }
}

/** The values of all fields of a name, in order. */
export function fieldValues({ fields }: MailHead, name: string): string[] {
  return fields.filter((field) => field.name === name.toLowerCase()).map(({ value }) => value);
}

/** The mail with the fields in front of it, and without earlier ones of the same names. */
export function withFields(mail: string, added: readonly (readonly [name: string, value: string])[]): string {
  const { fields, body, lineEnd } = parseHead(mail);
  const names = added.map(([name]) => name.toLowerCase());
  const kept = fields.filter((field) => !names.includes(field.name)).map(({ raw }) => raw);
  const isBoxLine = /^From /.test(kept[0] ?? '');
  const lines = added.map(([name, value]) => `${name}: ${value}${lineEnd}`);
  const all = isBoxLine ? [kept[0], ...lines, ...kept.slice(1)] : [...lines, ...kept];
  return all.join('') + body;
}
