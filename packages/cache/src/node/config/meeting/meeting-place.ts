/**
 * The place where the nodes of a fleet find each other by themselves: a NATS server or a multicast
 * group, and the address that each of them tells the others there. A fleet has one way to find
 * its nodes. Two of them would give a neighbour two links, and two opinions on whether it is there.
 */

import type { WrittenSettings } from '../config-sources.ts';
import type { ListenAddress } from '../listen-address.ts';
import type { SettingReader } from '../setting-reader.ts';
import { readAnnounced, unannounced } from './announced-address.ts';
import { type GroupConfig, printGroup, readGroup } from './group-config.ts';
import { type MulticastConfig, printMulticast, readMulticast } from './multicast-config.ts';
import { type NatsConfig, printNats, readNats } from './nats-config.ts';

export interface MeetingPlace {
  /** The NATS server by which the nodes find each other, or null. */
  readonly nats: NatsConfig | null;
  /** The multicast group by which the nodes find each other, or null. */
  readonly multicast: MulticastConfig | null;
  /** The group of nodes in which this one is, or null. Only fleets over NATS have groups. */
  readonly group: GroupConfig | null;
  /** The URL by which others reach the peer port, if it is not the address of that port itself. */
  readonly address: string | null;
}

export interface MeetingContext {
  readonly listen: ListenAddress | null;
  /** Whether the settings name neighbours as well. */
  readonly hasMembers: boolean;
  readonly problems: string[];
  readonly warnings: string[];
}

/** Reads the settings. All fields are null for links over HTTP. */
export function readMeetingPlace(
  reader: SettingReader,
  written: WrittenSettings,
  { listen, hasMembers, problems, warnings }: MeetingContext,
): MeetingPlace {
  const nats = readNats(reader, written, { problems, warnings });
  const multicast = readMulticast(reader, written, warnings);
  const group = readGroup(reader, written, { hasNats: nats !== null, problems, warnings });
  const address = readAnnounced(reader);
  const [way, ...others] = [
    ...(nats === null ? [] : ['--nats']),
    ...(multicast === null ? [] : ['--peer-multicast']),
    ...(hasMembers ? ['--peer and --peers-dns'] : []),
  ];
  if (nats === null && multicast === null) {
    if (written.has('peerAddress') && !written.has('nats') && !written.has('peerMulticast'))
      warnings.push('peerAddress has no effect without --nats or --peer-multicast');
    return { nats, multicast, group: null, address: null };
  }
  if (others.length > 0)
    problems.push(`${way} finds the neighbours by itself; leave out ${others.join(', ')}, or ${way}`);
  const problem = multicast?.card == null ? unannounced(listen, address, multicast !== null) : null;
  if (problem !== null) problems.push(problem);
  return { nats, multicast, group, address };
}

/** The settings as they stand in a configuration file. */
export function printMeetingPlace(place: MeetingPlace): Record<string, unknown> {
  const { nats, multicast, group, address } = place;
  return {
    ...printNats(nats),
    ...printGroup(group),
    ...printMulticast(multicast),
    peerAddress: address ?? undefined,
  };
}
