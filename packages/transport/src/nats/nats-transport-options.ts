/** The options of a NatsTransport. Name, secret, server, fleet and address are needed. */

import type { Clock } from '../clock.ts';
import type { FleetKeyring } from '../fleet-keyring.ts';
import type { NatsLimits } from './nats-limits.ts';
import type { NatsServerOptions } from './nats-server-options.ts';
import type { NatsEvent } from './nats-status.ts';

export interface NatsTransportOptions {
  /** The name of this node, unique in the fleet. */
  readonly id: string;
  /** The secret of the fleet, or a keyring of one or two, which may change later. */
  readonly secret: Uint8Array | FleetKeyring;
  readonly server: NatsServerOptions;
  /** The name of the fleet, which all its subjects begin with. */
  readonly fleet: string;
  /** The URL of this node's peer port as others reach it, or null if it has none (yet). */
  readonly address: string | null;
  /** The group of nodes that this node says it is in. Default: none. */
  readonly group?: string | null | undefined;
  /** The topics whose states are read at the join. Default: all. */
  readonly stateTopics?: readonly string[] | undefined;
  /** Addresses that are expected, and shown as down before they are heard. Default: none. */
  readonly peers?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<NatsLimits> | undefined;
  /** Called with events that an operator should know. Default: none. */
  readonly event?: NatsEvent | undefined;
}
