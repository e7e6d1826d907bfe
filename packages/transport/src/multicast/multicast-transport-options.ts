/** The options of a MulticastTransport. Name, secret, group and address are needed. */

import type { Clock } from '../clock.ts';
import type { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetCertificates } from '../http/certificates/fleet-certificates.ts';
import type { TlsOptions } from '../http/peer-client.ts';
import type { MulticastLimits } from './multicast-limits.ts';
import type { OpenMulticastSocket } from './multicast-socket.ts';
import type { MulticastEvent } from './multicast-status.ts';

export interface MulticastTransportOptions {
  /** The name of this node, unique in the fleet. */
  readonly id: string;
  /** The secret of the fleet, or a keyring of one or two, which may change later. */
  readonly secret: Uint8Array | FleetKeyring;
  /** The group and the port where the fleet meets, such as 239.192.0.7:3130. */
  readonly group: string;
  /** The address of the network card to use. Default: the system chooses. */
  readonly network?: string | undefined;
  /** Networks that a datagram may pass. Default: 1, this one. */
  readonly hops?: number | undefined;
  /** The URL of this node's peer port as others reach it, or null if it has none (yet). */
  readonly address: string | null;
  /** Addresses that are expected, and shown as down before they are heard. Default: none. */
  readonly peers?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
  readonly tls?: TlsOptions | undefined;
  /**
   * Certificates for mutual TLS on the peer ports (`HttpTransportOptions`). Datagrams are signed
   * with the secret alone. Default: none.
   */
  readonly certificates?: FleetCertificates | null | undefined;
  readonly limits?: Partial<MulticastLimits> | undefined;
  /** Called with events that an operator should know. Default: none. */
  readonly event?: MulticastEvent | undefined;
  /** Opens the socket. Default: a real one. */
  readonly openSocket?: OpenMulticastSocket | undefined;
}
