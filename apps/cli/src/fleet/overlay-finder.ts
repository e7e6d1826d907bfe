/**
 * The directory of objects across groups of caches (`bloomery cache --group-find`), by
 * `@bloomery/overlay/routing`: every node of the fleet announces the objects that its neighbours
 * may have, and asks for a holder at a miss. The cache declares the port, and the command binds it,
 * because systems do not import each other.
 *
 * Keys are the fleet's hashes under its secret, so the messages name no URL. A node announces all
 * changes of a tenth of a second together: a node that reads 100,000 objects from its disk would
 * otherwise have as many confirmations under way.
 *
 * The arrays are for 10,000 objects per node within two hops: 1.4 MB of memory. Nodes with more
 * have fuller filters, which lead astray more often, and the directory answers in their place. It
 * takes about 600 bytes of memory per object in the fleet, divided by half of the nodes.
 */

import type { MakeObjectFinder } from '@bloomery/cache';
import { planRoutes, RouteNode } from '@bloomery/overlay/routing';

const PLAN = planRoutes({ objectsPerNode: 10_000, levels: 2, stateBytes: 2 * 1024 * 1024 });
const INTERVAL_MS = 2000;
const GATHER_MS = 100;

/** The part of a hash that names an object in the directory. */
interface ObjectHash {
  readonly keyId: number;
  readonly low: number;
  readonly high: number;
}

export const overlayFinder: MakeObjectFinder = ({ transport, clock }) => {
  const node = new RouteNode({ transport, clock, plan: PLAN, intervalMs: INTERVAL_MS });
  const changes = new Map<string, boolean>();
  let cancel: (() => void) | null = null;
  let isClosed = false;
  const tell = () => {
    cancel = null;
    const keysWhere = (isHeld: boolean) =>
      [...changes].flatMap(([key, held]) => (held === isHeld ? [key] : []));
    const [announced, withdrawn] = [keysWhere(true), keysWhere(false)];
    changes.clear();
    // The directory goes on trying by itself, so whether it confirms in time does not matter here.
    node.change(announced, withdrawn).catch(() => {});
  };
  return {
    changed(hash, isHeld) {
      if (isClosed) return;
      changes.set(nameOf(hash), isHeld);
      cancel ??= clock.after(GATHER_MS, tell);
    },
    async find(hash, timeoutMs) {
      if (isClosed) return null;
      try {
        const located = await node.locate(nameOf(hash), { timeoutMs });
        return located.status === 'found' && located.by !== 'self' ? located.node : null;
      } catch {
        return null;
      }
    },
    close() {
      isClosed = true;
      cancel?.();
      void node.close();
    },
  };
};

function nameOf({ keyId, low, high }: ObjectHash): string {
  return [keyId, high, low].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}
