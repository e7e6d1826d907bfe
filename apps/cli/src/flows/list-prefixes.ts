/**
 * `flows --prefixes`: the networks, of any size, that have most of the traffic. A prefix is listed
 * if it has the share beside the longer prefixes of the list (`findHeavyPrefixes`).
 */

import { randomBytes } from 'node:crypto';
import { formatAddress } from '@bloomery/packets/capture';
import { PrefixMeter, type PrefixReport } from '@bloomery/packets/flows';
import { formatTable } from '@bloomery/papers/drawing';
import { formatBytes, formatCount, formatShare } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';
import type { FlowSource, PacketSink } from './flow-source.ts';

export interface ListPrefixesOptions {
  readonly side: 'src' | 'dst';
  /** Share of the total that a prefix needs, at least. */
  readonly share: number;
  readonly measure: 'bytes' | 'packets';
  readonly wire: boolean | undefined;
  readonly json: boolean | undefined;
}

interface PacketSource extends Omit<FlowSource, 'read'> {
  read(meter: PacketSink, onRead: (bytes: number) => void, signal: AbortSignal): Promise<void>;
}

/** Error of a sum, as a part of the share that is asked for, and at least a thousandth of all. */
const ERROR_OF_SHARE = 0.1;
const LEAST_EPSILON = 0.001;

/** Reads the captures and prints their heavy prefixes. */
export async function listPrefixes(source: PacketSource, options: ListPrefixesOptions): Promise<void> {
  const { side, share, measure, wire, json } = options;
  const meter = new PrefixMeter({
    side: side === 'src' ? 'source' : 'destination',
    measure,
    wire,
    epsilon: Math.max(LEAST_EPSILON, ERROR_OF_SHARE * share),
    seed: randomBytes(8).readBigUInt64LE(),
  });
  const held = holdSignals();
  const bar = startProgress({ what: 'reading', total: source.bytes, enabled: !json });
  try {
    await source.read(meter, bar.advance, held.stop);
  } finally {
    bar.stop();
  }
  if (!meter.exact && share < LEAST_EPSILON) {
    throw new UsageError(
      `--threshold is below the error of counting so many addresses; ask for ${formatShare(LEAST_EPSILON)} or more`,
    );
  }
  const report = meter.report(share);
  if (json) writeJson(prefixData(report, side, source.undecoded()));
  else writeLine(prefixText(report, side, share));
  held.close();
}

/** The report as plain data. */
function prefixData(report: PrefixReport, side: 'src' | 'dst', undecoded: Readonly<Record<string, number>>) {
  const { prefixes, ...facts } = report;
  return {
    side,
    ...facts,
    undecoded,
    prefixes: prefixes.map(({ address, length, atMost, aloneAtMost, depth }) => ({
      prefix: nameOf(address, length),
      atLeast: Math.max(0, atMost - report.error),
      atMost,
      aloneAtMost,
      depth,
    })),
  };
}

/** The report for people: a line that says how far it can be trusted, and a table. */
function prefixText(report: PrefixReport, side: 'src' | 'dst', share: number): string {
  const { exact, measure, total, ipv6, error, delta, prefixes } = report;
  const amount = (value: number) =>
    measure === 'bytes' ? formatBytes(value) : `${formatCount(value)} packets`;
  const what = side === 'src' ? 'sources' : 'destinations';
  const trust = exact
    ? `${colors().green('exact')}: every address was counted`
    : `${colors().yellow('estimate')}: no sum is too low; one in ${formatCount(1 / delta)} may be too high by more than ${amount(error)}`;
  const table =
    prefixes.length === 0
      ? 'no prefixes'
      : formatTable(
          [
            [measure, 'share', 'alone', `prefix of ${what}`],
            ...prefixes.map(({ address, length, atMost, aloneAtMost, depth }) => [
              measure === 'bytes' ? formatBytes(atMost) : formatCount(atMost),
              formatShare(atMost / total),
              formatShare(aloneAtMost / total),
              `${'  '.repeat(depth)}${nameOf(address, length)}`,
            ]),
          ],
          { right: [0, 1, 2] },
        );
  return [
    `${amount(total)} of IPv4; listed: prefixes with ${formatShare(share)} or more beside the longer ones listed`,
    trust,
    ...(ipv6 > 0 ? [`not listed: ${amount(ipv6)} of IPv6`] : []),
    '',
    table,
  ].join('\n');
}

function nameOf(address: number, length: number): string {
  return `${formatAddress(4, [address], 0)}${length === 32 ? '' : `/${length}`}`;
}
