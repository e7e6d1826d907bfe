/**
 * The settings for a fleet on one network without a broker, read and checked together. With
 * `--peer-multicast` the nodes find each other by a multicast group and send summaries there once
 * for all; requests and objects go from peer port to peer port. Null without `--peer-multicast`.
 *
 * The datagrams leave by the card that has the address of `--peer-listen`, so on a machine with
 * several cards the summaries go where the objects go. A node that listens on all addresses leaves
 * the choice to the routes of the system, unless the operator names a card. The name also says
 * which address the others are told, so that all nodes can have the same command.
 */

import { isIP } from 'node:net';
import { parseMulticastGroup } from '@bloomery/transport/multicast';
import type { WrittenSettings } from '../config-sources.ts';
import type { ListenAddress } from '../listen-address.ts';
import { type SettingReader, wholeNumberOf } from '../setting-reader.ts';
import { announcedAddress, isWildcard } from './announced-address.ts';
import { findCard } from './network-card.ts';

export interface MulticastConfig {
  /** The group and the port where the fleet meets, such as 239.192.0.7:3130. */
  readonly group: string;
  /** The name or an address of the card, or null if `--peer-listen` or the system says it. */
  readonly card: string | null;
  /** Networks that a datagram may pass: 1 for this one alone. */
  readonly hops: number;
}

const MULTICAST_SETTINGS = ['peerMulticastInterface', 'peerMulticastHops'] as const;

/** Reads the settings for multicast. */
export function readMulticast(
  reader: SettingReader,
  written: WrittenSettings,
  warnings: string[],
): MulticastConfig | null {
  const group = reader.one('peerMulticast', (text) => parseMulticastGroup(text).text);
  const card = reader.one('peerMulticastInterface', (text) => text) ?? null;
  const hops = reader.number('peerMulticastHops', wholeNumberOf, 1, 255) ?? 1;
  if (group !== undefined) return { group, card, hops };
  const idle = written.has('peerMulticast') ? [] : MULTICAST_SETTINGS.filter((key) => written.has(key));
  for (const key of idle) warnings.push(`${key} has no effect without --peer-multicast`);
  return null;
}

/** The settings as they stand in a configuration file. */
export function printMulticast(multicast: MulticastConfig | null): Record<string, unknown> {
  if (multicast === null) return {};
  const { group, card, hops } = multicast;
  return {
    peerMulticast: group,
    peerMulticastInterface: card ?? undefined,
    peerMulticastHops: hops === 1 ? undefined : hops,
  };
}

/**
 * The card as the transport takes it: an address for IPv4, a scope such as `::%eth0` for IPv6, or
 * undefined if the system chooses. Throws a RangeError if there is no such card.
 */
export function networkOf(
  { group, card }: MulticastConfig,
  listen: ListenAddress | null,
): string | undefined {
  const { family } = parseMulticastGroup(group);
  const isFour = family === 'udp4';
  const isOwn = listen !== null && !isWildcard(listen) && isIP(listen.host) === (isFour ? 4 : 6);
  const text = card ?? (isOwn ? listen.host : null);
  if (text === null) return undefined;
  const found = findCard(text, isFour ? 'IPv4' : 'IPv6');
  return isFour ? found.address : `::%${found.name}`;
}

/** The address that the others are told: that of the card if the node listens on all addresses. */
export function announcedOn(
  { group, card }: MulticastConfig,
  listen: ListenAddress,
  address: string | null,
): string {
  if (address !== null || card === null || !isWildcard(listen)) return announcedAddress(listen, address);
  const { family } = parseMulticastGroup(group);
  return announcedAddress(
    { ...listen, host: findCard(card, family === 'udp4' ? 'IPv4' : 'IPv6').address },
    null,
  );
}
