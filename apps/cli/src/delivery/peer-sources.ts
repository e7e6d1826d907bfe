/**
 * The peers of `seed` and `fetch`, as the command line names them: addresses, a name in the DNS, or
 * a NATS server on which nodes tell their addresses. All of them are sources of members
 * (`@bloomery/transport/membership`), so that peers may come while a file is fetched.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { type Cancel, systemClock, type Transport } from '@bloomery/transport';
import {
  DnsMembers,
  type Member,
  type MemberSource,
  Membership,
  type MembershipChange,
  nodeResolver,
  parseDnsName,
  StaticMembers,
} from '@bloomery/transport/membership';
import { NatsTransport } from '@bloomery/transport/nats';
import { type Command, InvalidArgumentError } from 'commander';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export const DEFAULT_PORT = 4790;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface NatsOptions {
  readonly nats?: string;
  readonly fleet: string;
  readonly secretFile?: string;
}

export interface PeerOptions extends NatsOptions {
  readonly peer: readonly string[];
  readonly peersDns?: string;
}

/** `--nats` and the options that belong to it. */
export function withNats(command: Command): Command {
  return command
    .option('--nats <url>', 'a NATS server on which the nodes tell each other their addresses')
    .option('--fleet <name>', 'the name of the fleet on that server', 'delivery')
    .option('--secret-file <file>', 'the secret of that fleet, 16 bytes at least');
}

/** A NATS server where this node and others tell their addresses. */
export async function joinNats(
  { nats, fleet, secretFile }: NatsOptions,
  own: ListenAddress | null,
): Promise<NatsTransport | null> {
  if (nats === undefined) return null;
  if (secretFile === undefined)
    throw new UsageError('--nats needs the secret of the fleet; --secret-file names it');
  if (own !== null && (own.host === '0.0.0.0' || own.host === '::'))
    throw new UsageError(
      '--listen must name an address that others can reach; with --nats it is told to them',
    );
  return await NatsTransport.load({
    id: randomBytes(8).toString('hex'),
    secret: readSecret(secretFile),
    fleet,
    address: own === null ? null : urlOf(own),
    server: { url: nats },
  });
}

/**
 * The peers of all sources together: a list if no others can come, so that a fetch without any
 * peer ends at once. `close` of a source ends its look-ups.
 */
export function peerSource(
  { peer, peersDns }: PeerOptions,
  transport: Transport | null,
  own: ListenAddress | null,
): readonly string[] | MemberSource {
  if (transport === null && peersDns === undefined) return peer;
  const sources: MemberSource[] = [new StaticMembers(peer)];
  if (transport !== null) sources.push(new TransportMembers(transport));
  if (peersDns !== undefined)
    sources.push(
      new DnsMembers({
        name: parseDnsName(peersDns),
        port: DEFAULT_PORT,
        resolver: nodeResolver(),
        clock: systemClock,
        isOwn: (address) => own !== null && isHere(address, own),
        event: (level, name, fields) => {
          if (level === 'warn') warn(`${peersDns}: ${fields.problem ?? name}`);
        },
      }),
    );
  return new Membership(sources);
}

/** Reads the address of a peer: host and port, or a URL. The port may be left out. */
export function parsePeer(text: string, before: readonly string[] = []): string[] {
  const url = URL.canParse(text) && /^https?:/.test(text) ? text : `http://${text}`;
  const { hostname, port, pathname, protocol } = URL.canParse(url) ? new URL(url) : new URL('http://x/bad');
  if (pathname !== '/' || hostname === '')
    throw new InvalidArgumentError('Expected an address such as 10.0.0.2:4790 or http://node:4790.');
  const isWithPort = port !== '' || protocol === 'https:';
  return [
    ...before,
    `${protocol}//${hostname}${isWithPort ? (port === '' ? '' : `:${port}`) : `:${DEFAULT_PORT}`}`,
  ];
}

/** Reads `host:port`; without a host it is all addresses of this machine. */
export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new InvalidArgumentError(
      'Expected an address and a port such as 10.0.0.2:4790, [::1]:4790 or :4790.',
    );
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}

/** The URL of a listening address. */
export function urlOf({ host, port }: ListenAddress): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The nodes that a transport sees, by the addresses that they tell. */
class TransportMembers implements MemberSource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  members(): readonly Member[] {
    const up = this.#transport.peers().filter(({ state }) => state === 'up');
    return up.map(({ address, id }) => ({ address, name: id, source: 'nats' }));
  }

  watch(listener: (change: MembershipChange) => void): Cancel {
    return this.#transport.watchPeers(({ address, id, state }) => {
      const member = { address, name: id, source: 'nats' };
      if (state === 'up') listener({ joined: [member], left: [] });
      else if (state === 'gone') listener({ joined: [], left: [member] });
    });
  }

  close(): void {}
}

/** Whether an address of the DNS is this node: its port, at an address of this machine. */
function isHere(address: string, own: ListenAddress): boolean {
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, '');
  const here = Object.values(networkInterfaces()).flatMap(
    (list) => list?.map((entry) => entry.address) ?? [],
  );
  return Number(port) === own.port && (host === own.host || here.includes(host));
}

function readSecret(path: string): Uint8Array {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`${path} cannot be read; --secret-file names the secret of the fleet`, {
      cause: error,
    });
  }
  if (Buffer.byteLength(text) < 16)
    throw new UsageError(`${path} is too short; a secret has 16 bytes at least`);
  return Buffer.from(text);
}
