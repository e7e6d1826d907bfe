/**
 * The sources from which this node knows its fleet, as the settings have them: the addresses of
 * `--peer`, and one look-up for each name of `--peers-dns`. A reload changes both. A name that
 * stays keeps its members and its pace; other name servers are other look-ups.
 */

import type { Clock } from '@bloomery/transport';
import {
  DnsMembers,
  type DnsName,
  type DnsReport,
  formatDnsName,
  type Member,
  Membership,
  nodeResolver,
  StaticMembers,
} from '@bloomery/transport/membership';
import type { ListenAddress } from '../config/listen-address.ts';
import { leadsHere } from '../config/peer-address.ts';
import type { PeerConfig } from '../config/peer-config.ts';

export interface MemberSourcesOptions {
  readonly clock: Clock;
  /** The peer port of this node, or null if it has none. */
  readonly listen: () => ListenAddress | null;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

export class MemberSources {
  readonly membership: Membership;
  readonly #options: MemberSourcesOptions;
  readonly #written: StaticMembers;
  /** The look-ups, by name and name servers. */
  #dns = new Map<string, DnsMembers>();

  constructor(config: PeerConfig, options: MemberSourcesOptions) {
    this.#options = options;
    this.#written = new StaticMembers(config.peers);
    this.membership = new Membership();
    this.change(config);
  }

  /** Takes over the neighbours of new settings. */
  change({ peers, dns, dnsServers }: PeerConfig): void {
    this.#written.change(peers);
    const before = this.#dns;
    this.#dns = new Map(
      dns.map((name) => {
        const key = [formatDnsName(name), ...dnsServers].join(' ');
        return [key, before.get(key) ?? this.#lookUp(name, dnsServers)];
      }),
    );
    this.membership.use([this.#written, ...this.#dns.values()]);
  }

  /** The member at an address, or undefined if there is none. */
  find(address: string): Member | undefined {
    return this.membership.members().find((member) => member.address === address);
  }

  /** The state of the look-ups. */
  dnsReports(): readonly DnsReport[] {
    return [...this.#dns.values()].map((members) => members.report());
  }

  close(): void {
    this.membership.close();
  }

  #lookUp(name: DnsName, servers: readonly string[]): DnsMembers {
    const { clock, listen, event } = this.#options;
    return new DnsMembers({
      name,
      // The settings have given a port to each name that needs one.
      port: name.port ?? 0,
      resolver: nodeResolver(servers),
      clock,
      isOwn: (address) => {
        const own = listen();
        return own !== null && leadsHere(address, [own]);
      },
      event,
    });
  }
}
