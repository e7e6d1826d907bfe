/** Reports of flows for people: a line that says how far they can be trusted, and a table. */

import type { HeaderCounts } from '@bloomery/packets/capture';
import type { Bounds, FlowFields, FlowReport } from '@bloomery/packets/flows';
import { formatTable } from '@bloomery/papers/drawing';
import { formatBytes, formatCount, formatShare } from '../terminal/format-values.ts';
import { colors } from '../terminal/terminal.ts';
import { flowColumns } from './flow-columns.ts';

/** The report as lines. */
export function reportText(report: FlowReport, fields: FlowFields): string {
  if (report.packets === 0 && report.flows === 0) return emptyLine(report);
  return [summaryLine(report), ...trustLines(report), '', flowTable(report, fields)].join('\n');
}

/** An interval without packets, or all of the input. */
function emptyLine({ from, to }: FlowReport): string {
  return from === null || to === null ? 'no packets' : `no packets, ${timeText(from)} to ${timeText(to)}`;
}

function summaryLine({ bytes, packets, flows, completeFrom, first, last }: FlowReport): string {
  const times = first === null || last === null ? '' : `, ${timeText(first)} to ${timeText(last)}`;
  const count = completeFrom === 0 ? formatCount(flows) : `more than ${formatCount(flows)}`;
  const what = flows === 1 ? 'flow' : 'flows';
  return `${formatCount(packets)} packets, ${formatBytes(bytes)} in ${count} ${what}${times}`;
}

/** Lines that say what the numbers promise. */
function trustLines({ exact, sampledRecords, completeFrom, measure, flows }: FlowReport): string[] {
  if (exact) return [`${colors().green('exact')}: every flow was counted`];
  const word = colors().yellow('estimate');
  const sampled =
    sampledRecords === 0
      ? []
      : [
          `${word}: ${formatCount(sampledRecords)} records come from exporters that look at one packet of many; their numbers are multiplied`,
        ];
  if (completeFrom === 0) return sampled;
  const bar = measure === 'bytes' ? formatBytes(completeFrom) : `${formatCount(completeFrom)} packets`;
  return [
    ...sampled,
    `${word}: the memory holds ${formatCount(flows)} flows, among them every flow of ${bar} or more;`,
    'true numbers lie between "at least" and "at most" (--memory raises the limit)',
  ];
}

function flowTable(report: FlowReport, fields: FlowFields): string {
  if (report.top.length === 0) return 'no flows';
  const columns = flowColumns(fields);
  const byBytes = report.measure === 'bytes';
  const total = byBytes ? report.bytes : report.packets;
  const shown = byBytes ? formatBytes : formatCount;
  const isComplete = report.completeFrom === 0;
  const head = isComplete
    ? [byBytes ? 'bytes' : 'packets', 'share', byBytes ? 'packets' : 'bytes']
    : ['at least', 'at most', 'share', byBytes ? 'packets' : 'bytes'];
  const rows = report.top.map(({ flow, bytes, packets }) => {
    const [main, other] = byBytes ? [bytes, packets] : [packets, bytes];
    const numbers = isComplete
      ? [shown(main.atMost), formatShare(main.atMost / total)]
      : [shown(main.atLeast), shown(main.atMost), shareText(main, total)];
    return [...numbers, otherText(other, !byBytes), ...columns.map(({ value }) => value(flow))];
  });
  const right = head.map((_, i) => i);
  for (const [i, { name }] of columns.entries()) if (name.endsWith('port')) right.push(head.length + i);
  return formatTable([[...head, ...columns.map(({ title }) => title)], ...rows], { right });
}

function shareText({ atLeast, atMost }: Bounds, total: number): string {
  const [low, high] = [formatShare(atLeast / total), formatShare(atMost / total)];
  return low === high ? high : `${low} to ${high}`;
}

function otherText({ atLeast, atMost }: Bounds, isBytes: boolean): string {
  const text = isBytes ? formatBytes(atLeast) : formatCount(atLeast);
  return atLeast === atMost ? text : `≥ ${text}`;
}

/** One flow with its bounds. */
export function oneFlowText(name: string, bytes: Bounds, packets: Bounds): string {
  if (bytes.atLeast === bytes.atMost && packets.atLeast === packets.atMost) {
    return `${name}: ${formatCount(bytes.atMost)} bytes in ${formatCount(packets.atMost)} packets (exact)`;
  }
  return `${name}: ${rangeText(bytes)} bytes in ${rangeText(packets)} packets (estimate)`;
}

function rangeText({ atLeast, atMost }: Bounds): string {
  return Number.isFinite(atMost)
    ? `${formatCount(atLeast)} to ${formatCount(atMost)}`
    : `at least ${formatCount(atLeast)}`;
}

/** Packets that have no flow, and why; empty if there are none. */
export function undecodedText({ packets, notIp, cut, malformed, linkType, noPorts }: HeaderCounts): string {
  const reasons: [number, string][] = [
    [notIp, 'not IP'],
    [cut, 'cut before the end of the IP header'],
    [malformed, 'malformed'],
    [linkType, 'of an unknown link type'],
  ];
  const missing = notIp + cut + malformed + linkType;
  const parts = reasons.filter(([count]) => count > 0).map(([count, why]) => `${formatCount(count)} ${why}`);
  const lines = [];
  if (missing > 0) {
    lines.push(
      `not counted: ${formatCount(missing)} of ${formatCount(packets)} packets (${parts.join(', ')})`,
    );
  }
  if (noPorts > 0)
    lines.push(`counted with ports 0: ${formatCount(noPorts)} packets that were cut before their ports`);
  return lines.join('\n');
}

/** 2023-11-14 22:13:20 UTC */
function timeText(seconds: number): string {
  const date = new Date(1000 * seconds);
  return Number.isNaN(date.getTime())
    ? String(seconds)
    : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
