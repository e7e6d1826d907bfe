/**
 * The port to a directory of objects across groups: which node of the fleet holds this object? The
 * cache declares it and knows nothing about how it is answered. The command binds it
 * (apps/cli/src/fleet/overlay-finder.ts), because two systems meet there.
 *
 * Without it a node asks the owner of a key in another group, who may have to fetch an object that
 * a third node holds: after a node joined, owners change and objects stay where they are.
 */

import type { Clock, Transport } from '@bloomery/transport';
import type { KeyedHash } from '../neighbour-port.ts';

export interface ObjectFinder {
  /** Notes that this node holds an object that others may have, or that it no longer does. */
  changed(hash: KeyedHash, isHeld: boolean): void;
  /**
   * The id of a node that holds the object, or null if there is none or if that could not be found
   * out in time. It never rejects. An answer is a hint: that node is asked, and may refuse.
   */
  find(hash: KeyedHash, timeoutMs: number): Promise<string | null>;
  close(): void;
}

/** Makes the finder of a node. The transport reaches all nodes of the fleet. */
export type MakeObjectFinder = (parts: {
  readonly transport: Transport;
  readonly clock: Clock;
}) => ObjectFinder;
