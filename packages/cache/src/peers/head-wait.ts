/**
 * The wait of a neighbour for the head of a fetch of this node.
 *
 * It lasts as long as the neighbour said, which is the rest of its budget. If the fetch is rooted
 * (`proxy/flight/flight.ts`), it waits for the origin, and it may take longer: the neighbour is
 * told by 102 (Processing), at once and then each second. A neighbour that hears this goes on
 * waiting, and is rooted itself. Otherwise an origin that takes longer than the budget for its head
 * would be asked by every node of the fleet.
 *
 * No circle of nodes can wait like this. A node sends 102 only after it has asked the origin, or
 * has got a 102 itself, and it waits by a 102 once in a fetch. In a circle each node would need a
 * 102 of the next one before it could send its own, so none could send the first.
 */

import type { ServerResponse } from 'node:http';
import type { Cancel, Clock } from '@bloomery/transport';
import type { ProxyFlight, ProxyLanding, SharedResponse } from '../proxy/flight/shared-response.ts';

/** Time between two 102. A neighbour gives up after twice that time. */
export const PROCESSING_MS = 1000;

export interface HeadWaitOptions {
  readonly clock: Clock;
  /** The time that the neighbour waits in any case. */
  readonly waitMs: number;
  /** The longest wait for a fetch that is rooted, or null if it may not take longer. */
  readonly longestMs: number | null;
  /** The neighbour is told to wait for longer. */
  readonly prolonged: () => void;
}

/** The response of a fetch when its head has come, or null if there is none to share in time. */
export function awaitHead(
  flight: ProxyFlight,
  res: ServerResponse,
  { clock, waitMs, longestMs, prolonged }: HeadWaitOptions,
): Promise<SharedResponse | null> {
  const { landing } = flight;
  if (landing !== null) return Promise.resolve(sharedBy(landing));
  if (waitMs === 0) return Promise.resolve(null);
  return new Promise((resolve) => {
    let cancelNext: Cancel = () => {};
    const landed = (by: ProxyLanding): void => {
      stop();
      resolve(sharedBy(by));
    };
    const tell = (): void => {
      res.writeProcessing();
      cancelNext = clock.after(PROCESSING_MS, tell);
    };
    const closed = (): void => {
      leave();
      stop();
      resolve(null);
    };
    const stop = (): void => {
      cancelNext();
      unwatch();
      res.off('close', closed);
    };
    let unwatch: Cancel = () => {};
    let leave = flight.wait(waitMs, landed);
    res.once('close', closed);
    if (longestMs === null) return;
    unwatch = flight.whenRooted(() => {
      // The longer wait begins before the shorter one ends: a flight without waiters is abandoned.
      const leaveShort = leave;
      leave = flight.wait(longestMs, landed);
      leaveShort();
      prolonged();
      tell();
    });
  });
}

function sharedBy(landing: ProxyLanding): SharedResponse | null {
  return landing.kind === 'shared' ? landing.shared : null;
}
