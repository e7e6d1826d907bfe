import { until } from '@bloomery/testkit/eventually';
import type { ContractNet } from '@bloomery/testkit/transport/contract-net';
import { transportContract } from '@bloomery/testkit/transport/transport-contract';
import { HttpFleet } from '../http/http-fleet.ts';

/** Heartbeats are shorter. */
const HIT_BYTES = 60;

transportContract('http', async (): Promise<ContractNet> => {
  const fleet = await HttpFleet.withNames('a', 'b', 'c');
  return {
    address: (name) => fleet.address(name),
    start: async (name, peers, id = name) => {
      const transport = fleet.start(name, peers, { id });
      const close = transport.close.bind(transport);
      // A node that closes its transport takes its server down as well.
      transport.close = async () => {
        await close();
        fleet.vacate(name);
      };
      return transport;
    },
    silence: (name) => {
      fleet.relay(name).setFaults({ toServer: { stallAfter: 0 }, toClient: { stallAfter: 0 } });
    },
    unsilence: (name) => fleet.relay(name).setFaults(),
    damageNext: (name) => {
      const relay = fleet.relay(name);
      const damage = (piece: Buffer) => {
        if (piece.length < HIT_BYTES) return;
        relay.setFaults();
        piece[piece.length >> 1] ^= 1;
      };
      relay.setFaults({ toClient: { damage } });
    },
    until: (what, condition) => until(what, condition),
    during: (promise) => promise,
    end: () => fleet.end(),
  };
});
