/**
 * A fleet's medium: the way in which the nodes of a fleet find each other and talk. `FleetMember`
 * is written against this interface, so that it treats links over HTTP, a NATS server and a
 * multicast group alike. The interface adds to `Transport` only what a node must do for one medium
 * and not for another: the peer port may be part of it, and neighbours may come from the settings.
 *
 * We refused to add these methods to `Transport`. That port is also that of simulations and other
 * systems, which have neither a peer port nor settings.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, FleetKeyring, Transport } from '@bloomery/transport';
import type { FleetCertificates } from '@bloomery/transport/http';
import type { FleetReport, PeerReport } from '../../../peers/peer-report.ts';
import type { ListenAddress } from '../../config/listen-address.ts';
import type { PeerConfig } from '../../config/peer-config.ts';

/** The parts of a report that differ from medium to medium. */
export type MediumStatus = Pick<FleetReport, 'dns' | 'nats' | 'multicast'>;

export interface FleetMedium {
  readonly transport: Transport;
  /** Tells the neighbours, where the medium does that, at which address the peer port is open. */
  announce(listen: ListenAddress): void;
  /**
   * Answers a request on the peer port that belongs to the medium. Returns false for any other
   * request.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** True if a request with this Host field is known to be for another node. */
  isForOther(host: string): boolean;
  /** Takes over the neighbours of new settings. */
  changeMembers(config: PeerConfig): void;
  /** The place where the address of a neighbour was learnt. */
  sourceOf(address: string): Pick<PeerReport, 'source' | 'dnsName'>;
  status(): MediumStatus;
  /**
   * Says goodbye, if that can be done before the links close, and takes no more neighbours. The
   * links stay, for work that is under way; `transport.close` ends them.
   */
  leave(): void;
}

/** This node, as a medium must know it. */
export interface MediumIdentity {
  /** The name of the node, unique in the fleet. */
  readonly name: string;
  readonly keyring: FleetKeyring;
  /** The certificates for mutual TLS, or null if the secret alone says who a neighbour is. */
  readonly certificates: FleetCertificates | null;
  readonly clock: Clock;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

/** Makes the medium of the settings (prepare-medium.ts). */
export type MakeMedium = (own: MediumIdentity) => FleetMedium;
