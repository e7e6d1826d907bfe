/**
 * The addresses of a file of vCards: versions 2.1, 3.0 (RFC 2426) and 4.0 (RFC 6350), as phones and
 * mail programs write them. Only EMAIL is read.
 */

/** Texts of all EMAIL properties, in order. They may be no addresses. */
export function readVcard(text: string): string[] {
  const found: string[] = [];
  for (const line of unfolded(text)) {
    const property = /^(?:[\w-]+\.)?EMAIL((?:;(?:"[^"]*"|[^":])*)?):(.*)$/is.exec(line);
    if (property === null) continue;
    const [, parameters, value] = property;
    const decoded = /;(?:ENCODING=)?QUOTED-PRINTABLE/i.test(parameters) ? quotedPrintable(value) : value;
    // RFC 6350, 3.4: "COMMA … MUST be escaped with a backslash".
    found.push(decoded.replaceAll(/\\([\\,;])/g, '$1').trim());
  }
  return found;
}

/**
 * RFC 6350, 3.2: "Unfolding is accomplished by removing … CRLF and the … immediately following
 * white space character". Version 2.1 continues quoted-printable lines after a final `=` instead.
 * The parts of a line are joined once, so that many short ones take no more time than one long one.
 */
function unfolded(text: string): string[] {
  const lines: string[] = [];
  let parts: string[] = [];
  /** The beginning of the line, as far as the coding can be said in it. */
  let head = '';
  let soft = false;
  for (const line of text.split(/\r\n|\n|\r/)) {
    let part = line;
    if (soft) parts.push(parts.pop()!.slice(0, -1));
    else if (parts.length > 0 && /^[ \t]/.test(line)) part = line.slice(1);
    else {
      lines.push(parts.join(''));
      parts = [];
      head = '';
    }
    parts.push(part);
    if (head.length < MOST_HEAD && !head.includes(':')) head += part.slice(0, MOST_HEAD);
    soft = part.endsWith('=') && QUOTED.test(head);
  }
  lines.push(parts.join(''));
  return lines;
}

const MOST_HEAD = 1000;
const QUOTED = /^[^:]*QUOTED-PRINTABLE[^:]*:/i;

function quotedPrintable(text: string): string {
  const bytes = text.replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return new TextDecoder().decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}
