/**
 * The report of a soak, in Markdown: the verdict first, then the figures, then some of the samples.
 */

import { cpus } from 'node:os';
import type { SoakResult } from './soak.ts';
import type { Line } from './soak-line.ts';

/** Number of samples that are shown. */
const ROWS = 20;

export function renderSoak(result: SoakResult): string {
  const { minutes, samples, requests, bytes, hits, problems, leaked, memory, rss, evictions } = result;
  const median = (values: number[]) => values.sort((one, other) => one - other)[values.length >>> 1] ?? 0;
  const rows = samples.filter((_, i) => i % Math.max(1, Math.ceil(samples.length / ROWS)) === 0);
  const lines = [
    `# Soak: ${minutes} minutes`,
    '',
    problems.length === 0 ? 'Nothing found.' : `Found: ${problems.join('; ')}.`,
    '',
    `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}; origin, clients and node on one machine.`,
    '',
    '| | |',
    '|---|---|',
    `| answers, each byte checked | ${requests.toLocaleString('en')} (${mb(bytes)}) |`,
    `| wrong | ${result.wrong.length} |`,
    `| hits | ${((100 * hits) / Math.max(1, requests)).toFixed(1)} % |`,
    `| requests at the origin | ${result.originRequests.toLocaleString('en')} |`,
    `| clients that left in the middle | ${result.left.toLocaleString('en')} |`,
    `| evictions | ${Object.entries(evictions)
      .map(([tier, count]) => `${tier} ${count.toLocaleString('en')}`)
      .join(', ')} |`,
    `| memory after GC (heap and buffers) | ${lineText(memory)} |`,
    `| RSS | ${lineText(rss)} |`,
    `| left over at the end | ${leaked.sockets} sockets, ${leaked.deletedFiles} deleted files open, ${leaked.temporaryFiles} temporary files |`,
    `| latency, median of the samples | p50 ${median(samples.map(({ p50Ms }) => p50Ms)).toFixed(1)} ms, p99 ${median(samples.map(({ p99Ms }) => p99Ms)).toFixed(1)} ms |`,
    `| event loop p99, median of the samples | ${median(samples.map(({ loopP99Ms }) => loopP99Ms)).toFixed(1)} ms |`,
    '',
    '| s | requests | heap | buffers | RSS | sockets | files | memory store | disk store | loop p99 ms | p50 ms | p99 ms |',
    '|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map(
      (s) =>
        `| ${Math.round(s.at / 1000)} | ${s.requests} | ${mb(s.heap)} | ${mb(s.external)} | ${mb(s.rss)} | ${s.sockets} | ${s.files} | ${mb(s.memoryBytes)} | ${mb(s.diskBytes)} | ${s.loopP99Ms.toFixed(1)} | ${s.p50Ms.toFixed(1)} | ${s.p99Ms.toFixed(1)} |`,
    ),
  ];
  if (result.wrong.length > 0)
    lines.push('', 'What was wrong:', '', ...result.wrong.map((what) => `- ${what}`));
  return `${lines.join('\n')}\n`;
}

function lineText({ samples, mean, slope, standardError, verdict }: Line): string {
  return `${mb(mean)} on average of ${samples} samples, ${slope >= 0 ? '+' : ''}${mb(slope)} an hour ± ${mb(standardError)}: ${verdict}`;
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
