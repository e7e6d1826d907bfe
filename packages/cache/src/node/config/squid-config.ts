/**
 * The settings for Squids as neighbours, read and checked together: the Squids that this node asks,
 * and the digest that it serves to those that ask it. Both work without a fleet and without a
 * secret, because Squid knows neither.
 *
 * Budget, memory, copies and `--share` are the settings of the fleet (`peer-config.ts`): to a
 * client of this node it makes no difference which kind of neighbour an object came from.
 */

import { formatDuration, formatSize } from './amounts.ts';
import type { WrittenSettings } from './config-sources.ts';
import type { ListenAddress } from './listen-address.ts';
import { leadsHere, parsePeer } from './peer-address.ts';
import { readCommon } from './peer-config.ts';
import { SettingReader, wholeNumberOf } from './setting-reader.ts';

export interface SquidConfig {
  /** The ports of Squids that this node asks, `http://host:port` each. */
  readonly addresses: readonly string[];
  /** Bits per entry of the digest that this node serves, or null if it serves none. */
  readonly digestBits: number | null;
  /** Time that the neighbours of all kinds together may delay the first byte. */
  readonly budgetMs: number;
  /** Bound for the digests of all Squids. */
  readonly memoryBytes: number;
  /** Part of the memory store for copies that came from neighbours, 0 to 0.9. */
  readonly copiesShare: number;
  /** URL prefixes whose responses are shared although their query looks like a secret. */
  readonly share: readonly string[];
}

const EXPECTED = 'the port of a Squid such as http://10.0.0.9:3128 or [fd00::9]:3128';

/** Reads the settings. Null if the node has nothing to do with Squids. */
export function readSquids(
  reader: SettingReader,
  written: WrittenSettings,
  context: { listen: readonly ListenAddress[]; forward: boolean; problems: string[]; warnings: string[] },
): SquidConfig | null {
  const { listen, forward, problems, warnings } = context;
  const addresses = reader.list('squid', (text) => parsePeer(text, EXPECTED)) ?? [];
  const serves = reader.switch('squidDigest') ?? false;
  // Squid refuses a digest with more than 65 % ones: 5 bits per entry give 55 %, and 4 give 63 %.
  const bits = reader.number('squidDigestBits', wholeNumberOf, 5, 32) ?? 8;
  if (!serves && written.has('squidDigestBits'))
    warnings.push('squidDigestBits has no effect without --squid-digest');
  if (serves && !forward)
    problems.push('--squid-digest needs --forward: a Squid asks its siblings for URLs of any origin');
  const twice = addresses.find((address, i) => addresses.indexOf(address) !== i);
  if (twice !== undefined) problems.push(`the Squid ${twice} is given twice; expected each Squid once`);
  for (const address of addresses)
    if (leadsHere(address, listen)) problems.push(`the Squid ${address} is this node itself`);
  if (addresses.length === 0 && !serves) return null;
  // Problems of these settings are reported where the fleet reads them.
  const { budgetMs, memoryBytes, copiesShare, share } = readCommon(new SettingReader(written, []));
  return { addresses, digestBits: serves ? bits : null, budgetMs, memoryBytes, copiesShare, share };
}

/** The settings as they stand in a configuration file. */
export function printSquids(config: SquidConfig | null): Readonly<Record<string, unknown>> {
  if (config === null) return {};
  return {
    squid: config.addresses,
    squidDigest: config.digestBits !== null,
    squidDigestBits: config.digestBits ?? undefined,
    peerBudget: formatDuration(config.budgetMs),
    peerMemory: formatSize(config.memoryBytes),
    peerCopies: config.copiesShare,
    share: config.share,
  };
}
