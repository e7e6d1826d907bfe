/** The report of a run under faults, in Markdown: the verdict first, then the figures. */

import { availableParallelism, cpus } from 'node:os';
import { WANTED_MS } from '../../packages/testkit/src/faults/play-fault.ts';
import { fitLine } from '../cache/soak-line.ts';
import { quantile } from '../cooperation/bench-fleet.ts';
import type { FaultRunResult } from './fault-run.ts';

export function renderFaults(result: FaultRunResult): string {
  const { answers, wrongAnswers, failures, problems, samples, firstBytesMs } = result;
  const found = [
    ...(wrongAnswers > 0 ? [`${wrongAnswers} wrong answers`] : []),
    ...(failures > 0 ? [`${failures} failed requests`] : []),
    ...problems,
  ];
  const loads = samples.map(({ load }) => load);
  const at = (share: number) => `${quantile(firstBytesMs, share).toFixed(1)} ms`;
  const lines = [
    `# Faults over ${result.transport === 'nats' ? 'NATS' : 'HTTP'}: ${(result.ms / 60_000).toFixed(1)} minutes`,
    '',
    found.length === 0 ? 'Nothing found.' : `Found: ${found.join('; ')}.`,
    '',
    `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}. Load average ${quantile(loads, 0.5).toFixed(1)} (median of the samples), ${Math.max(...loads).toFixed(1)} at most, with other work on the machine.`,
    '',
    '| | |',
    '|---|---|',
    `| answers, each byte checked | ${whole(answers)} (${(result.bytes / 1e6).toFixed(0)} MB) |`,
    `| wrong | ${wrongAnswers} |`,
    `| failed | ${failures} |`,
    `| requests whose node was killed meanwhile | ${whole(result.orphans)} |`,
    `| asked again, because a kept connection was closed as idle | ${whole(result.repeated)} |`,
    `| hits | ${((100 * result.hits) / Math.max(1, answers)).toFixed(1)} % |`,
    `| requests at the origin | ${whole(result.originRequests)} |`,
    `| first byte | p50 ${at(0.5)}, p99 ${at(0.99)}, p99.9 ${at(0.999)} |`,
    '',
    ...faultTable(result),
    '',
    ...nodeTable(result),
  ];
  for (const [title, notes] of Object.entries({ wrong: result.wrong, failed: result.failed }))
    if (notes.length > 0)
      lines.push(
        '',
        `The first that ${title === 'wrong' ? 'were wrong' : 'failed'}:`,
        '',
        ...notes.map((note) => `- ${note}`),
      );
  return `${lines.join('\n')}\n`;
}

function faultTable({ faults }: FaultRunResult): string[] {
  const names = [...new Set(faults.map(({ name }) => name))];
  return [
    `| fault | times | lasted, s | current again after, median, s | worst, s | within ${WANTED_MS / 1000} s |`,
    '|---|--:|--:|--:|--:|--:|',
    ...names.map((name) => {
      const each = faults.filter((fault) => fault.name === name);
      const current = each.map(({ currentMs }) => currentMs);
      const held = quantile(
        each.map(({ heldMs }) => heldMs),
        0.5,
      );
      const inTime = current.filter((ms) => ms <= WANTED_MS).length;
      return `| ${name} | ${each.length} | ${seconds(held)} | ${seconds(quantile(current, 0.5))} | ${seconds(Math.max(...current))} | ${inTime} of ${each.length} |`;
    }),
  ];
}

function nodeTable({ samples }: FaultRunResult): string[] {
  const names = samples[0]?.nodes.map(({ node }) => node) ?? [];
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  return [
    '| node | RSS at the beginning | in the middle | at the end | most | an hour | descriptors: beginning | end | most |',
    '|---|--:|--:|--:|--:|---|--:|--:|--:|',
    ...names.map((name, index) => {
      const own = samples.map(({ at, nodes }) => ({ at, ...nodes[index]! }));
      const rss = own.map((sample) => sample.rss);
      const descriptors = own.map((sample) => sample.descriptors);
      // Caches and tables fill in the first third.
      const warm = own.slice(Math.floor(own.length / 3)).map(({ at, rss: value }) => ({ at, value }));
      const { slope, standardError, verdict } = fitLine(warm);
      const line = `${mb(slope)} ± ${mb(standardError)}: ${verdict}`;
      return `| ${name} | ${mb(rss[0]!)} | ${mb(rss[rss.length >>> 1]!)} | ${mb(rss.at(-1)!)} | ${mb(Math.max(...rss))} | ${line} | ${descriptors[0]} | ${descriptors.at(-1)} | ${Math.max(...descriptors)} |`;
    }),
  ];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

function whole(count: number): string {
  return count.toLocaleString('en');
}
