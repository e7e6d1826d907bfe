/**
 * The table of updates: bytes that tell neighbours of 1 % and 5 % of replaced objects, by every way
 * of update-rivals.ts and on a captured TCP stream. It is a section of bench/results/cooperation.md
 * and, with its explanation, the page docs/notes/summary-bytes.md.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RATE, type UpdateRow, updateRows } from './update-rivals.ts';
import { replace } from './url-population.ts';

const SHARES = [0.01, 0.05] as const;

/** A row with its bytes by share of replaced objects. */
interface TableRow {
  readonly name: string;
  readonly rate: number;
  readonly bytes: readonly number[];
}

/** Lines of the table in Markdown. */
export function updateTable(objects: number): string[] {
  const scratch = mkdtempSync(join(tmpdir(), 'bloomery-updates-'));
  try {
    const columns = SHARES.map((share) => updateRows(replace(objects, share), scratch));
    const rows = columns[0]!.map(({ name, rate }, i) => ({
      name,
      rate,
      bytes: columns.map((column) => column[i]!.bytes),
    }));
    return formatRows(rows, columns[0]![0]!);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The last columns say how many times the bytes of `best` a row takes. */
function formatRows(rows: readonly TableRow[], best: UpdateRow): string[] {
  const reference = rows.find(({ name }) => name === best.name)!;
  return [
    `| way to tell the difference | rate | ${SHARES.map((share) => `${100 * share} %, bytes`).join(' | ')} | ${SHARES.map((share) => `${100 * share} %, ratio`).join(' | ')} |`,
    `|---|---:|${SHARES.map(() => '---:|').join('')}${SHARES.map(() => '---:|').join('')}`,
    ...rows.map(({ name, rate, bytes }) => {
      const ratios = bytes.map((value, i) =>
        (value / reference.bytes[i]!).toFixed(value < 100 * reference.bytes[i]! ? 1 : 0),
      );
      return `| ${name} | ${rate === 0 ? 'exact' : `${(100 * rate).toFixed(2)} %`} | ${bytes.map((value) => value.toLocaleString('en')).join(' | ')} | ${ratios.join(' | ')} |`;
    }),
  ];
}

/** The page of the docs. */
export function updatePage(table: readonly string[], objects: number): string {
  return `# Bytes of an update

How many bytes tell a neighbour that some of the objects of a cache were replaced? ${objects.toLocaleString('en')} objects with
synthetic URLs of 102 bytes on average, made in the manner of a mirror of packages; the rows about lists of URLs depend
on that, the rows about summaries do not. 1 % or 5 % of the objects go and as many others come. Summaries have a false
positive rate of ${(100 * RATE).toFixed(2)} % where they can. Ratios are to the first row. Written by
\`npm run bench:cooperation -- --only bytes --docs\`.

${table.join('\n')}

- **A set of positions** (\`SetPublisher\`) is a Bloom filter with one hash function over a large sparse array, the limit
  of *Compressed Bloom Filters*, section II. Removed objects are told by their rank in the old set, added ones by the gaps
  between them. The receiver builds from it whatever it likes.
- **Bloom filter** is \`Publisher\`: the changed bits of a counting filter, coded. "small" and "fast" are its two efforts.
- **Summary Cache's update** (Fan, Cao, Almeida, Broder, 2000) has a header of 32 bytes and 4 bytes for each bit that
  changed. Here all changes are in one message; in UDP packets there would be more headers.
- **Squid** sends its whole digest again, once an hour, at 5 bits per entry by default, which is a rate of 9.2 %. At
  10 bits it comes near the rate of the others.
- **rsync, xdelta3 and zstd** compare the old state with the new one, of the filter or of the sorted list of URLs. rsync's
  figure is for both directions. Bits of a filter change one at a time, all over the array, and blocks do not match.
- Exact lists have no false positives. The list of changed hashes is what remains when nothing is compressed.
- Rows for programs and lists contain no session: no names of generations, no checksum, no way to ask again. The first three
  rows do.
`;
}
