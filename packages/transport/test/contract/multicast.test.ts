import { until } from '@bloomery/testkit/eventually';
import type { ContractNet } from '@bloomery/testkit/transport/contract-net';
import { transportContract } from '@bloomery/testkit/transport/transport-contract';
import { MulticastFleet } from '../multicast/multicast-fleet.ts';

/** The text of the message in the contract that is to be hit. */
const HIT = Buffer.from('longer than a heartbeat');

transportContract('multicast', async (): Promise<ContractNet> => {
  const fleet = await MulticastFleet.withNames('a', 'b', 'c');
  return {
    address: (name) => fleet.address(name),
    start: async (name, peers, id = name) => {
      const transport = fleet.node(name, { id, peers: peers.map((peer) => fleet.address(peer)) });
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
      fleet.setFaults(name, { sent: () => null, heard: () => null });
    },
    unsilence: (name) => {
      fleet.relay(name).setFaults();
      fleet.setFaults(name);
    },
    damageNext: (name) => {
      const sent = (datagram: Buffer) => {
        const at = datagram.indexOf(HIT);
        if (at < 0) return datagram;
        fleet.setFaults(name);
        datagram[at] ^= 1;
        return datagram;
      };
      fleet.setFaults(name, { sent });
    },
    repairs: true,
    until: (what, condition) => until(what, condition),
    during: (promise) => promise,
    end: () => fleet[Symbol.asyncDispose](),
  };
});
