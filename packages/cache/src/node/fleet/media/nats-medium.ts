/**
 * A NATS server, through which the nodes find each other and talk. The settings name no neighbours,
 * and the peer port has nothing but objects: a question for one names the node that it is for.
 */

import { topicInGroup } from '@bloomery/transport/membership';
import { type LoadedNatsClient, NatsTransport } from '@bloomery/transport/nats';
import { SUMMARY_TOPIC } from '../../../peers/summary-follower.ts';
import type { ListenAddress } from '../../config/listen-address.ts';
import { announcedAddress } from '../../config/meeting/announced-address.ts';
import { natsServer } from '../../config/meeting/nats-config.ts';
import type { PeerConfig } from '../../config/peer-config.ts';
import type { FleetMedium, MediumIdentity, MediumStatus } from './fleet-medium.ts';

export class NatsMedium implements FleetMedium {
  readonly transport: NatsTransport;
  readonly #address: string | null;

  constructor(config: PeerConfig, own: MediumIdentity, client: LoadedNatsClient) {
    const { name: id, keyring: secret, clock, event } = own;
    const nats = config.nats!;
    this.#address = config.address;
    // The address follows when the peer port is open.
    const group = config.group?.name ?? null;
    const options = {
      id,
      secret,
      clock,
      event,
      server: natsServer(nats),
      fleet: nats.fleet,
      address: null,
      group,
      // The states of other groups are of no use here, and there may be hundreds of them.
      ...(group === null ? {} : { stateTopics: [topicInGroup(SUMMARY_TOPIC, group)] }),
    };
    this.transport = new NatsTransport(options, client);
  }

  announce(listen: ListenAddress): void {
    this.transport.announce(announcedAddress(listen, this.#address));
  }

  handle(): boolean {
    return false;
  }

  isForOther(): boolean {
    return false;
  }

  changeMembers(): void {}

  sourceOf(): ReturnType<FleetMedium['sourceOf']> {
    return { source: 'nats', dnsName: null };
  }

  status(): MediumStatus {
    return { dns: [], nats: this.transport.status(), multicast: null };
  }

  /** Does nothing, because the goodbye is part of closing. */
  leave(): void {}
}
