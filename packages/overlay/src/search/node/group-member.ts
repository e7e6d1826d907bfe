/**
 * This peer as a member of one group: the transport under the group's secret, its folders there,
 * and the directory of the others. A new secret is another member: the old one is closed with
 * everything that it knew, and the folders are indexed again.
 */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { fleetKeys, systemClock, type Transport } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import { NatsTransport } from '@bloomery/transport/nats';
import { PeerDirectory } from '../../directory/peer-directory.ts';
import { SearchError } from '../../directory/search-error.ts';
import type { SearchGroup } from '../searcher.ts';
import { SharedFolder } from '../shared-folder.ts';
import type { FolderRules } from './folder-files.ts';
import { FolderFollower } from './folder-follower.ts';
import type { Invitation } from './invitation.ts';
import { SealedTransport } from './sealed-transport.ts';

export interface GroupMemberOptions {
  /** The name of this peer, unique in the group. */
  readonly id: string;
  readonly invitation: Invitation;
  /** The folders that are shared with the group; none for a member that only searches. */
  readonly folders: readonly string[];
  /** The peer port, where the invitation names no NATS server. Port 0 is any. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  /** Peer ports of members beside those of the invitation. */
  readonly peers?: readonly string[] | undefined;
  readonly rules?: ((root: string) => FolderRules) | undefined;
  /** Time between two signs of life. Default: that of the adapter. */
  readonly heartbeatMs?: number | undefined;
  readonly lookMs?: number | undefined;
  readonly problem?: ((path: string, why: string) => void) | undefined;
}

export class GroupMember {
  readonly options: GroupMemberOptions;
  readonly group: SearchGroup;
  readonly followers: readonly FolderFollower[];
  /** The port of the peer port, or null with NATS. */
  readonly peerPort: number | null;
  readonly #transport: Transport;
  readonly #http: HttpTransport | null;
  readonly #server: Server | null;

  private constructor(
    options: GroupMemberOptions,
    transport: Transport,
    http: HttpTransport | null,
    server: Server | null,
  ) {
    this.options = options;
    this.#transport = transport;
    this.#http = http;
    this.#server = server;
    this.peerPort = server === null ? null : (server.address() as AddressInfo).port;
    const { invitation, folders, rules, lookMs, problem, heartbeatMs } = options;
    const clock = systemClock;
    const { scheme } = fleetKeys(invitation.secret).summary;
    const sealed = new SealedTransport(transport, invitation.secret);
    const followers: FolderFollower[] = [];
    const folder = new SharedFolder({
      transport: sealed,
      clock,
      scheme,
      label: folders
        .map((path) => basename(path))
        .join(', ')
        .slice(0, LABEL),
      readText: (path) => firstText(followers, path),
      summary: heartbeatMs === undefined ? {} : { heartbeatMs },
    });
    const directory = new PeerDirectory({ transport: sealed, clock });
    this.group = { name: invitation.group, transport: sealed, directory, scheme, folder };
    for (const root of folders)
      followers.push(
        new FolderFollower({
          root,
          folder,
          clock,
          rules,
          lookMs,
          problem,
          // With one folder, paths begin in it.
          prefix: folders.length === 1 ? '' : `${basename(root)}/`,
        }),
      );
    this.followers = followers;
  }

  static async join(options: GroupMemberOptions): Promise<GroupMember> {
    const { id, invitation, listen, peers = [], folders, heartbeatMs } = options;
    const names = new Set(folders.map((path) => basename(path)));
    if (names.size < folders.length)
      throw new SearchError(
        'invitation',
        `Cannot share with ${invitation.group}: expected folders of different names, got ${folders.join(', ')}`,
      );
    const limits = heartbeatMs === undefined ? {} : { heartbeatMs };
    const { secret } = invitation;
    if (invitation.nats !== null) {
      const transport = await NatsTransport.load({
        id,
        secret,
        fleet: `share-${invitation.group}`,
        // Members on a NATS server need no address to be reached; this one only names the peer.
        address: `http://${encodeURIComponent(id)}.share.invalid`,
        server: { url: invitation.nats },
        limits,
      });
      return new GroupMember(options, transport, null, null);
    }
    const http = new HttpTransport({
      id,
      secret,
      peers: [...new Set([...invitation.peers, ...peers])],
      limits,
    });
    const server = createServer((request, response) => {
      if (!http.handle(request, response)) response.writeHead(404).end();
    });
    const { host, port } = listen ?? { host: '127.0.0.1', port: 0 };
    server.listen(port, host);
    try {
      await once(server, 'listening');
    } catch (error) {
      await http.close();
      throw error;
    }
    return new GroupMember(options, http, http, server);
  }

  /** The reason why no member can be reached at present, or null. */
  get problem(): string | null {
    if (!(this.#transport instanceof NatsTransport)) return null;
    const { isConnected, why } = this.#transport.status();
    return isConnected ? null : `no connection to the NATS server: ${why}`;
  }

  /** Looks at all files. Resolves when they are indexed. */
  async index(): Promise<void> {
    await Promise.all(this.followers.map((follower) => follower.start()));
    this.group.folder.summary.flush();
  }

  /** Takes other members' peer ports, where they are a list. */
  changePeers(peers: readonly string[]): void {
    this.#http?.changePeers(peers);
  }

  async close(): Promise<void> {
    for (const follower of this.followers) follower.close();
    this.group.folder.close();
    this.group.directory.close();
    await this.#transport.close();
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

/** Characters of the label in the directory. */
const LABEL = 60;

async function firstText(followers: readonly FolderFollower[], path: string): Promise<string | null> {
  for (const follower of followers) {
    const text = await follower.readText(path);
    if (text !== null) return text;
  }
  return null;
}
