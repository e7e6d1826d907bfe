/**
 * The addresses of a table in CSV (RFC 4180), as Google, Outlook and Thunderbird export contacts.
 * If the first line has names of columns with "mail" in them, those columns are read, otherwise
 * every cell. A cell may hold several addresses.
 */

export interface CsvOptions {
  /** The name of the one column to read. */
  readonly column?: string;
}

/** Texts of all cells that may hold an address, cut where several stand in one. */
export function readCsv(text: string, { column }: CsvOptions = {}): string[] {
  const rows = parseCsv(text);
  const head = rows[0] ?? [];
  let columns = head.flatMap((name, i) => {
    const wanted =
      column === undefined ? /\be-?mail|\bmail\b/i.test(name) && !name.includes('@') : name.trim() === column;
    return wanted ? [i] : [];
  });
  if (column !== undefined && columns.length === 0) {
    throw new RangeError(
      `Cannot read contacts: expected a column ${column}, got ${head.join(', ') || 'none'}`,
    );
  }
  const hasHead = columns.length > 0;
  if (!hasHead) columns = Array.from({ length: Math.max(0, ...rows.map((row) => row.length)) }, (_, i) => i);
  return rows
    .slice(hasHead ? 1 : 0)
    .flatMap((row) => columns.flatMap((i) => (row[i] ?? '').split(/\s*:::\s*|[;,\n]/)))
    .map((cell) => cell.trim())
    .filter((cell) => cell.includes('@'));
}

/**
 * Rows of cells. The separator is the one of comma, semicolon and tab that the first line has most.
 */
function parseCsv(text: string): string[][] {
  const body = text.replace(/^\uFEFF/, '');
  const first = /^[^\r\n]*/.exec(body)?.[0] ?? '';
  const count = (separator: string) => first.split(separator).length;
  const separator = [',', ';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best));
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let inQuotes = false;
  for (let i = 0; i < body.length; i++) {
    const character = body[i];
    if (inQuotes) {
      if (character !== '"') cell += character;
      else if (body[i + 1] === '"') cell += body[++i];
      else inQuotes = false;
    } else if (character === '"' && cell === '') inQuotes = true;
    else if (character === separator) {
      row.push(cell);
      cell = '';
    } else if (character === '\n' || character === '\r') {
      if (character === '\r' && body[i + 1] === '\n') i++;
      rows.push([...row, cell]);
      [row, cell] = [[], ''];
    } else cell += character;
  }
  if (cell !== '' || row.length > 0) rows.push([...row, cell]);
  return rows;
}
