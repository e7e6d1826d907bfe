/**
 * The faults that a fleet in a virtual network must bear, each with its beginning and its end.
 *
 * Only the last node is killed. The others live from the beginning of a run to its end, so a leak
 * shows in them. All rates and times are given here once, for tests, benchmarks and the soak.
 */

import type { FleetNode } from '../fleet/fleet-node.ts';
import type { RelayFaults } from '../relay/tcp-relay.ts';
import type { NetworkFleet } from './network-fleet.ts';

export interface FleetFault {
  readonly name: string;
  begin(fleet: NetworkFleet): Promise<void>;
  /** Takes the fault away. The fleet needs some time after it. */
  heal(fleet: NetworkFleet): Promise<void>;
  /** The two sides of a partition. */
  sides?(fleet: NetworkFleet): readonly [readonly FleetNode[], readonly FleetNode[]];
}

/** 1 Mbit/s, about 12 of the larger objects in a second. */
const THROTTLED_BITS = 1_000_000;
const DELAY_MS = 100;
/** Bytes of a new connection before it is cut. */
const CUT_AFTER = 3000;

/** All faults for a fleet. Those of a NATS server are there if it has one. */
export function faultsOf(fleet: NetworkFleet): readonly FleetFault[] {
  return [
    ...[1, 10, 30].map(loss),
    THROTTLE,
    DELAY,
    STALL,
    CUT,
    KILL,
    ...(fleet.nats ? [KILL_NATS] : []),
    PARTITION,
  ];
}

/** Loss at the input of each node and of the NATS server. */
function loss(percent: number): FleetFault {
  const lose = (fleet: NetworkFleet, share: number) =>
    Promise.all(fleet.spaces.map((space) => fleet.network.lose(space, { percent: share })));
  return {
    name: `loss of ${percent} %`,
    async begin(fleet) {
      await lose(fleet, percent);
    },
    async heal(fleet) {
      await lose(fleet, 0);
    },
  };
}

const THROTTLE: FleetFault = {
  name: 'bandwidth of 1 Mbit/s',
  async begin({ network, spaces }) {
    await Promise.all(spaces.map((space) => network.throttle(space, THROTTLED_BITS)));
  },
  async heal({ network, spaces }) {
    await Promise.all(spaces.map((space) => network.throttle(space, null)));
  },
};

/** The relays before all nodes and the NATS server have the same faults. */
function relayFault(name: string, faults: RelayFaults, isCut = false): FleetFault {
  return {
    name,
    async begin({ relays }) {
      for (const relay of relays) {
        relay.setFaults(faults);
        if (isCut) relay.cut();
      }
    },
    async heal({ relays }) {
      for (const relay of relays) relay.setFaults();
    },
  };
}

const DELAY = relayFault(`delay of ${DELAY_MS} ms`, { toClient: { delayMs: DELAY_MS } });
const STALL = relayFault('stalled connections', { toClient: { stallAfter: 0 } });
const CUT = relayFault('cut connections', { toClient: { cutAfter: CUT_AFTER } }, true);

const KILL: FleetFault = {
  name: 'kill -9 of a node',
  async begin({ nodes }) {
    await nodes.at(-1)!.kill();
  },
  async heal({ nodes }) {
    await nodes.at(-1)!.start();
  },
};

const KILL_NATS: FleetFault = {
  name: 'kill -9 of the NATS server',
  async begin({ nats }) {
    await nats!.server.kill();
  },
  async heal({ nats }) {
    await nats!.server.start();
  },
};

/** The first node is alone on its side. */
const PARTITION: FleetFault = {
  name: 'partition',
  async begin({ network, spaces }) {
    await network.divide(spaces.slice(0, 1), spaces.slice(1));
  },
  async heal({ network }) {
    await network.unite();
  },
  sides: ({ nodes }) => [nodes.slice(0, 1), nodes.slice(1)],
};
