import { until } from '@bloomery/testkit/eventually';
import type { ContractNet } from '@bloomery/testkit/transport/contract-net';
import { transportContract } from '@bloomery/testkit/transport/transport-contract';
import { NatsFleet } from '../nats/nats-fleet.ts';

/** The text of the message in the contract that is to be hit. */
const HIT = Buffer.from('longer than a heartbeat');

transportContract('nats', async (): Promise<ContractNet> => {
  const fleet = await NatsFleet.start();
  return {
    address: (name) => fleet.address(name),
    start: (name, peers, id = name) =>
      fleet.node(name, { id, peers: peers.map((peer) => fleet.address(peer)) }),
    silence: (name) => {
      fleet.relay(name).setFaults({ toServer: { stallAfter: 0 }, toClient: { stallAfter: 0 } });
    },
    unsilence: (name) => fleet.relay(name).setFaults(),
    damageNext: (name) => {
      const relay = fleet.relay(name);
      const damage = (piece: Buffer) => {
        const at = piece.indexOf(HIT);
        if (at < 0) return;
        relay.setFaults();
        piece[at] ^= 1;
      };
      relay.setFaults({ toServer: { damage } });
    },
    until: (what, condition) => until(what, condition),
    during: (promise) => promise,
    end: () => fleet[Symbol.asyncDispose](),
  };
});
