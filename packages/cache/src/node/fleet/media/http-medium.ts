/**
 * Links over HTTP, from each node to each other one. The neighbours come and go with the membership
 * (member-sources.ts): a reload of the settings, or the records of a name in the DNS. The links
 * follow.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpTransport } from '@bloomery/transport/http';
import type { ListenAddress } from '../../config/listen-address.ts';
import type { PeerConfig } from '../../config/peer-config.ts';
import { MemberSources } from '../member-sources.ts';
import type { FleetMedium, MediumIdentity, MediumStatus } from './fleet-medium.ts';

export class HttpMedium implements FleetMedium {
  readonly transport: HttpTransport;
  readonly #sources: MemberSources;
  #listen: ListenAddress | null;

  constructor(config: PeerConfig, { name, keyring, certificates, clock, event }: MediumIdentity) {
    this.#listen = config.listen;
    this.#sources = new MemberSources(config, { clock, listen: () => this.#listen, event });
    this.transport = new HttpTransport({
      id: name,
      secret: keyring,
      clock,
      certificates,
      peers: this.#addresses(),
    });
    this.#sources.membership.watch(({ joined, left }) => {
      for (const { address, source } of joined) event('info', 'member-joined', { peer: address, source });
      for (const { address, source } of left) event('info', 'member-left', { peer: address, source });
      this.transport.changePeers(this.#addresses());
    });
  }

  /** The look-ups leave the address of this node out. */
  announce(listen: ListenAddress): void {
    this.#listen = listen;
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    return this.transport.handle(request, response);
  }

  isForOther(host: string): boolean {
    return this.transport.isForOther(host);
  }

  changeMembers(config: PeerConfig): void {
    this.#sources.change(config);
  }

  sourceOf(address: string): ReturnType<FleetMedium['sourceOf']> {
    const { source, name } = this.#sources.find(address) ?? { source: 'unknown', name: null };
    return { source, dnsName: name };
  }

  status(): MediumStatus {
    return { dns: this.#sources.dnsReports(), nats: null, multicast: null };
  }

  leave(): void {
    this.#sources.close();
    this.transport.leave();
  }

  #addresses(): string[] {
    return this.#sources.membership.members().map(({ address }) => address);
  }
}
