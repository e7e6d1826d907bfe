/** The plan and the outcome of a join as text for a terminal. */

import { formatTable } from '@bloomery/papers/drawing';
import type { JoinPlan, JoinReport } from '@bloomery/stores/join';
import type { Estimate } from 'bloomery';
import { formatBytes, formatCount, formatRate, formatShare } from '../terminal/format-values.ts';

/** Says before anything moves what would. */
export function planText(plan: JoinPlan): string {
  const { nearKeys, farRows, rowBytes, matches, matchShare, bytes, filter, way } = plan;
  const range = `${formatCount(Math.round(matches.low))} to ${formatCount(Math.round(matches.high))}`;
  const rows = [
    ['near keys', formatCount(nearKeys), ''],
    ['far rows', formatCount(farRows), `of ${rowBytes.toFixed(0)} bytes on the wire`],
    [
      'far rows that match',
      formatCount(Math.round(matches.value)),
      `${formatShare(matchShare.value)}; ${range}`,
    ],
    ['best rate p*', formatRate(plan.bestRate), '0.26 · near keys / (bytes of the rows that do not match)'],
    ['filter', formatBytes(filter.bytes), `${filter.hashes} hashes, ${formatRate(filter.falsePositiveRate)}`],
    ['first slice', formatBytes(plan.sliceBytes), 'sent already, to learn the above'],
  ];
  const ways = [
    ['', 'moves'],
    ['the whole far table', formatBytes(bytes.all)],
    ['the near keys', formatBytes(bytes.keys)],
    ['the filter', formatBytes(bytes.filter)],
  ];
  const names = { all: 'the whole far table', keys: 'the near keys', filter: 'the filter' };
  return [
    formatTable(rows, { right: [1] }),
    '',
    formatTable(ways, { right: [1] }),
    '',
    `Chosen: ${names[way]}, because ${plan.reason}.`,
  ].join('\n');
}

/** An estimate with its interval, or a number alone if it is exact. */
export function rangeText({ value, low, high }: Estimate): string {
  const [middle, from, to] = [value, low, high].map((one) => formatCount(Math.round(one)));
  return from === to ? middle : `${middle} (${from} to ${to})`;
}

export function reportText(report: JoinReport): string {
  const { way, rows, received, falsePositives, bytesSent, bytesReceived } = report;
  const answer = rows === 1 ? '1 row' : `${formatCount(rows)} rows`;
  if (way === 'local') return `${answer}; the far side was read here, ${formatCount(received)} rows`;
  const dropped = falsePositives > 0 ? `, ${formatCount(falsePositives)} without a partner were dropped` : '';
  return `${answer}${dropped}; ${formatBytes(bytesSent)} sent, ${formatBytes(bytesReceived)} received`;
}

/** A row as a line of CSV. As in PostgreSQL's CSV, NULL is empty, and an empty text is `""`. */
export function csvLine(row: readonly (string | null)[]): string {
  return row.map(csvField).join(',');
}

function csvField(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** The names of the answer's columns. A near column with the name of a far one is `near.NAME`. */
export function answerNames(columns: readonly string[], nearColumns: readonly string[]): string[] {
  return [...columns, ...nearColumns.map((name) => (columns.includes(name) ? `near.${name}` : name))];
}
