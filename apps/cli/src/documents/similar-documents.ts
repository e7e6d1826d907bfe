/** `similar --text`: reads documents, compares all pairs, and reports the most similar ones. */

import { formatTable } from '@bloomery/papers/drawing';
import type { Estimate } from 'bloomery';
import { formatCount } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import { comparePair, type DocumentPair, SHORT, TopPairs, WIDE } from './document-pairs.ts';
import { documentPaths, readDocument, type TextDocument } from './text-document.ts';

export interface TextOptions {
  readonly confidence: number;
  readonly top?: number;
  readonly bits?: number;
  readonly json?: boolean;
}

export function similarDocuments(paths: readonly string[], options: TextOptions): void {
  const { confidence, top = 20, bits = 2 ** 17, json = false } = options;
  const documents = readDocuments(documentPaths(paths), bits, json);
  if (documents.length < 2) {
    throw new UsageError(`expected two or more documents with words in them, got ${documents.length}`);
  }
  const pairs = new TopPairs(top);
  const total = (documents.length * (documents.length - 1)) / 2;
  const progress = startProgress({ what: 'comparing', total, unit: 'steps', enabled: !json });
  try {
    for (const [i, a] of documents.entries()) {
      for (const b of documents.slice(i + 1)) pairs.offer(comparePair(a, b, confidence));
      progress.advance(documents.length - i - 1);
    }
  } finally {
    progress.stop();
  }
  if (json) writeReport(documents, pairs, { confidence, bits });
  else printPairs(pairs, confidence);
  warnOfShort(documents);
  warnOfWide(pairs.best(), bits);
}

function readDocuments(paths: readonly string[], bits: number, json: boolean): TextDocument[] {
  const progress = startProgress({ what: 'reading', total: paths.length, unit: 'steps', enabled: !json });
  const documents: TextDocument[] = [];
  const [binary, empty]: [string[], string[]] = [[], []];
  try {
    for (const path of paths) {
      const document = readDocument(path, bits);
      if (document === null) binary.push(path);
      else if (document.terms === 0) empty.push(path);
      else documents.push(document);
      progress.advance(1);
    }
  } finally {
    progress.stop();
  }
  if (binary.length > 0) warn(`${listed(binary)}: not text, left out`);
  if (empty.length > 0) warn(`${listed(empty)}: no words, left out`);
  return documents;
}

function writeReport(
  documents: readonly TextDocument[],
  pairs: TopPairs,
  { confidence, bits }: { readonly confidence: number; readonly bits: number },
): void {
  writeJson({
    confidence,
    bits,
    documents: documents.map(({ path, terms }) => ({ path, terms, short: terms < SHORT })),
    comparisons: pairs.count,
    pairs: pairs.best().map(({ a, b, jaccard, intersection }) => ({
      a: a.path,
      b: b.path,
      jaccard,
      intersection,
      short: isShort(a, b),
    })),
  });
}

function printPairs(pairs: TopPairs, confidence: number): void {
  const { dim } = colors(1);
  const best = pairs.best();
  writeLine(
    formatTable(
      [
        ['Jaccard', `interval (${Number((100 * confidence).toPrecision(6))} %)`, 'words', 'A', 'B'],
        ...best.map(({ a, b, jaccard }) => [
          Number.isNaN(jaccard.value) ? 'unknown' : shown(jaccard.value),
          dim(`${shown(jaccard.low)} to ${shown(jaccard.high)}`),
          `${formatCount(a.terms)}, ${formatCount(b.terms)}${isShort(a, b) ? ' short' : ''}`,
          a.path,
          b.path,
        ]),
      ],
      { right: [0] },
    ),
  );
  const more = pairs.count - best.length;
  if (more > 0) writeLine(dim(`and ${formatCount(more)} pairs that are less similar; --top shows more`));
}

function warnOfShort(documents: readonly TextDocument[]): void {
  const short = documents.filter(({ terms }) => terms < SHORT).map(({ path }) => path);
  if (short.length === 0) return;
  warn(
    `${listed(short)}: fewer than ${SHORT} distinct words, too short to compare: one word changes the result by 5 % or more`,
  );
}

function warnOfWide(pairs: readonly DocumentPair[], bits: number): void {
  const width = ({ low, high }: Estimate) => Math.min(1, high) - Math.max(0, low);
  const wide = pairs.filter(({ a, b, jaccard }) => !(width(jaccard) <= WIDE) && !isShort(a, b));
  if (wide.length === 0) return;
  const { a, b } = wide[0];
  warn(
    `${a.path}, ${b.path}${wide.length > 1 ? ` and ${wide.length - 1} other pairs` : ''}: too many words for ${formatCount(bits)} bits, so the interval is wide; --bits takes more`,
  );
}

function isShort(a: TextDocument, b: TextDocument): boolean {
  return Math.min(a.terms, b.terms) < SHORT;
}

/** The first three names, and how many more there are. */
function listed(paths: readonly string[]): string {
  const more = paths.length - 3;
  return paths.slice(0, 3).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function shown(share: number): string {
  return Math.min(1, Math.max(0, share)).toFixed(3);
}
