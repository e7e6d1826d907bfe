/**
 * A multicast group, by which the nodes on one network find each other and exchange summaries.
 * Requests go to the peer port, and so do questions for objects, which name the node that they are
 * for.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { MulticastTransport } from '@bloomery/transport/multicast';
import type { ListenAddress } from '../../config/listen-address.ts';
import { announcedOn, networkOf } from '../../config/meeting/multicast-config.ts';
import type { PeerConfig } from '../../config/peer-config.ts';
import type { FleetMedium, MediumIdentity, MediumStatus } from './fleet-medium.ts';

export class MulticastMedium implements FleetMedium {
  readonly transport: MulticastTransport;
  readonly #config: PeerConfig;

  constructor(config: PeerConfig, own: MediumIdentity) {
    const { name: id, keyring: secret, certificates, clock, event } = own;
    const multicast = config.multicast!;
    const { group, hops } = multicast;
    this.#config = config;
    this.transport = new MulticastTransport({
      id,
      secret,
      certificates,
      clock,
      event,
      group,
      hops,
      network: networkOf(multicast, config.listen),
      // The address follows when the peer port is open.
      address: null,
    });
  }

  announce(listen: ListenAddress): void {
    this.transport.announce(announcedOn(this.#config.multicast!, listen, this.#config.address));
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    return this.transport.handle(request, response);
  }

  isForOther(): boolean {
    return false;
  }

  changeMembers(): void {}

  sourceOf(): ReturnType<FleetMedium['sourceOf']> {
    return { source: 'multicast', dnsName: null };
  }

  status(): MediumStatus {
    return { dns: [], nats: null, multicast: this.transport.status() };
  }

  leave(): void {
    this.transport.leave();
  }
}
