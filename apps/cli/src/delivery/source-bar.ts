/**
 * The progress of a fetch as one line: a cell for each part of the file that shows where most of it
 * came from. `#` is the origin, a letter is a peer, `=` was there from an earlier run, `·` is
 * missing.
 */

import { createRequire } from 'node:module';
import type { DeliveryReport } from '@bloomery/delivery';
import type * as CliProgress from 'cli-progress';
import { formatBytes } from '../terminal/format-values.ts';
import { isTerminal } from '../terminal/terminal.ts';

const CELLS = 40;
const REDRAW_MS = 200;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const MISSING = '·';

/** Draws until the result is called. Nothing is drawn where standard error is no terminal. */
export function drawSources(report: () => DeliveryReport, enabled: boolean): () => void {
  if (!enabled || !isTerminal(2)) return () => {};
  const { Presets, SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof CliProgress;
  const began = performance.now();
  const format = () => sourceLine(report(), (performance.now() - began) / 1000);
  const bar = new SingleBar(
    { stream: process.stderr, clearOnComplete: true, hideCursor: false, format },
    Presets.shades_classic,
  );
  bar.start(1, 0);
  const timer = setInterval(() => bar.update(0), REDRAW_MS);
  return () => {
    clearInterval(timer);
    bar.stop();
  };
}

/** The line of a report. */
export function sourceLine(report: DeliveryReport, seconds: number): string {
  const { phase, size, hasBlocks, blocks, blockBytes, originBytes, peerBytes } = report;
  if (size === null || phase === 'searching') return `searching, ${report.peers.length} peers`;
  const share = blocks === 0 ? 1 : hasBlocks / blocks;
  const speed = formatBytes((originBytes + peerBytes) / Math.max(0.001, seconds));
  const words = [
    `${phase} ${sourceCells(report.origins)} ${Math.floor(100 * share)} % of ${formatBytes(size)}`,
  ];
  words.push(`${speed}/s`, sourceWords(report));
  if (blockBytes !== null && phase === 'fetching') {
    const left = (blocks - hasBlocks) * blockBytes;
    const rate = (originBytes + peerBytes) / Math.max(0.001, seconds);
    if (rate > 0) words.push(`${Math.ceil(left / rate)} s left`);
  }
  return words.join('  ');
}

/** `origin 2 MB, a 10.0.0.2:4790 8 MB, 3 others 4 MB`. */
export function sourceWords({ originBytes, resumedBytes, peers }: DeliveryReport): string {
  const parts: string[] = [];
  if (resumedBytes > 0) parts.push(`= earlier ${formatBytes(resumedBytes)}`);
  if (originBytes > 0) parts.push(`# origin ${formatBytes(originBytes)}`);
  const givers = peers
    .map(({ address, bytes }, i) => ({ address, bytes, letter: LETTERS[i % LETTERS.length]! }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  for (const { address, bytes, letter } of givers.slice(0, 3))
    parts.push(`${letter} ${address.replace(/^https?:\/\//, '')} ${formatBytes(bytes)}`);
  const others = givers.slice(3);
  if (others.length > 0)
    parts.push(`${others.length} others ${formatBytes(others.reduce((sum, { bytes }) => sum + bytes, 0))}`);
  return parts.join(', ');
}

/** One character for each part of the file: the source of most of its blocks. */
export function sourceCells(origins: DeliveryReport['origins'], cells = CELLS): string {
  let line = '';
  for (let cell = 0; cell < cells; cell++) {
    const from = Math.floor((cell * origins.length) / cells);
    const to = Math.max(from + 1, Math.floor(((cell + 1) * origins.length) / cells));
    const counts = new Map<string, number>();
    for (const origin of origins.slice(from, to)) {
      const letter = letterOf(origin);
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    const [[most] = [MISSING]] = [...counts].sort(([, a], [, b]) => b - a);
    line += most;
  }
  return line;
}

function letterOf(origin: DeliveryReport['origins'][number]): string {
  if (origin === null) return MISSING;
  if (origin === 'origin') return '#';
  if (origin === 'resumed') return '=';
  return origin < 0 ? '?' : LETTERS[origin % LETTERS.length]!;
}
