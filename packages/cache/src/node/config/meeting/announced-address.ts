/**
 * The address at which others reach the peer port of this node, for fleets whose nodes find each
 * other by themselves: each node tells the others its own address. It is that of `--peer-listen`,
 * unless the node listens on all addresses or others reach it by another one (`--peer-address`).
 */

import { formatListen, type ListenAddress } from '../listen-address.ts';
import { parsePeer } from '../peer-address.ts';
import type { SettingReader } from '../setting-reader.ts';

export function readAnnounced(reader: SettingReader): string | null {
  return reader.one('peerAddress', parsePeer) ?? null;
}

/** The problem of a node that would tell the others no address, or null. */
export function unannounced(
  listen: ListenAddress | null,
  address: string | null,
  isMulticast: boolean,
): string | null {
  if (listen === null || address !== null || !isWildcard(listen)) return null;
  const card = isMulticast ? ', and so does --peer-multicast-interface, such as eth0' : '';
  return `--peer-listen ${listen.host} does not say where others reach this node; --peer-address does, such as http://10.0.0.2:${listen.port}${card}`;
}

/** The address to tell, once the peer port is open. */
export function announcedAddress(listen: ListenAddress, address: string | null): string {
  return address ?? formatListen(listen);
}

/** Whether a node listens on all addresses, which others cannot be told. */
export function isWildcard({ host }: ListenAddress): boolean {
  return host === '0.0.0.0' || host === '::' || host === '';
}
