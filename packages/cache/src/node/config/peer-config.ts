/**
 * The settings for cooperation with neighbours, read and checked together. A node without `--peer`,
 * `--peers-dns`, `--nats`, `--peer-multicast` and `--peer-listen` has none (null), and the rest of
 * the node then does nothing for neighbours.
 *
 * All nodes of a fleet can have the same list of peers: a node leaves its own address out and says
 * so in a warning. We refused to make that an error, because then each machine would need a file of
 * its own.
 */

import { isIPv4, isIPv6 } from 'node:net';
import { type DnsName, formatDnsName, parseDnsName } from '@bloomery/transport/membership';
import { formatDuration, formatSize } from './amounts.ts';
import type { WrittenSettings } from './config-sources.ts';
import { formatListen, type ListenAddress, parseListen } from './listen-address.ts';
import { type MeetingPlace, printMeetingPlace, readMeetingPlace } from './meeting/meeting-place.ts';
import { leadsHere, parsePeer } from './peer-address.ts';
import { type PeerCertificateFiles, readCertificateFiles } from './peer-certificates.ts';
import { isReadableByAll, readPeerSecrets } from './peer-secret.ts';
import { durationOf, type SettingReader, shareOf, sizeOf } from './setting-reader.ts';

/** `single` plans for few copies in the fleet; `summary-cache` keeps and publishes everything. */
type PeerMode = 'single' | 'summary-cache';

export interface PeerConfig extends MeetingPlace {
  /** Peer ports of the neighbours, `http://host:port` each, without this node's own. */
  readonly peers: readonly string[];
  /** Names in the DNS that list further neighbours. Each has a port, unless it is a service. */
  readonly dns: readonly DnsName[];
  /** Name servers for these names; empty for those of the machine. */
  readonly dnsServers: readonly string[];
  /** Address for neighbours, or null if this node only asks. */
  readonly listen: ListenAddress | null;
  readonly secretFile: string;
  /** The files for mutual TLS, or null if the secret alone says who a neighbour is. */
  readonly certificates: PeerCertificateFiles | null;
  /** Time that all neighbours and the owner together may delay the first byte. */
  readonly budgetMs: number;
  /** Bound for the summaries of all neighbours. */
  readonly memoryBytes: number;
  /** Part of the memory store for copies that came from neighbours, 0 to 0.9. */
  readonly copiesShare: number;
  /** URL prefixes whose responses are shared although their query looks like a secret. */
  readonly share: readonly string[];
  /** Bytes of summaries per second for each neighbour. */
  readonly bandwidth: number;
  readonly mode: PeerMode;
}

const PEER_SETTINGS = [
  'peersDnsServer',
  'peerSecret',
  'peerCert',
  'peerKey',
  'peerCa',
  'peerBudget',
  'peerMemory',
  'peerCopies',
  'peerBandwidth',
  'peerMode',
  'share',
] as const;

const COMMON_SETTINGS = ['peerBudget', 'peerMemory', 'peerCopies', 'share'] as const;

/** Reads the settings. Null if the node has no neighbours, or if the secret is missing. */
export function readPeers(
  reader: SettingReader,
  written: WrittenSettings,
  context: { listen: readonly ListenAddress[]; problems: string[]; warnings: string[] },
): PeerConfig | null {
  const { problems, warnings } = context;
  const certificates = readCertificateFiles(reader, written, problems);
  const isTls = certificates !== null;
  const addresses = reader.list('peer', (text) => parsePeer(text, undefined, isTls ? 'https' : 'http')) ?? [];
  const listen = reader.one('peerListen', (text) => parseListen(text, isTls)) ?? null;
  const names = reader.list('peersDns', (text) => withScheme(parseDnsName(text), text, isTls)) ?? [];
  const dnsServers = reader.list('peersDnsServer', parseServer) ?? [];
  const hasMembers = addresses.length + names.length > 0;
  const place = readMeetingPlace(reader, written, { listen, hasMembers, problems, warnings });
  const secretFile = reader.path('peerSecret');
  const rest = {
    ...readCommon(reader),
    bandwidth: reader.number('peerBandwidth', sizeOf, 1e3, 1e12) ?? 125e3,
    mode: reader.choice('peerMode', ['single', 'summary-cache']) ?? 'single',
  };
  const ways = [
    ...(listen === null ? [] : ['--peer-listen']),
    ...(addresses.length === 0 ? [] : ['--peer']),
    ...(place.nats === null ? [] : ['--nats']),
    ...(place.multicast === null ? [] : ['--peer-multicast']),
    ...(names.length === 0 ? [] : ['--peers-dns']),
  ];
  if (ways.length === 0) {
    // A wrong --peer or --peers-dns is reported already, and would only repeat itself here.
    const isWritten = ['peer', 'peersDns', 'nats', 'peerMulticast'].some((key) => written.has(key));
    const used: readonly string[] = written.has('squid')
      ? COMMON_SETTINGS
      : written.has('squidDigest')
        ? ['share']
        : [];
    const idle = isWritten ? [] : PEER_SETTINGS.filter((key) => written.has(key) && !used.includes(key));
    for (const key of idle)
      warnings.push(
        `${key} has no effect without --peer, --peers-dns, --nats, --peer-multicast or --peer-listen`,
      );
    return null;
  }
  const dns = names.map((name) =>
    name.isService ? name : { ...name, port: name.port ?? listen?.port ?? null },
  );
  const portless = dns.find(({ isService, port }) => !isService && (port ?? 0) === 0);
  if (portless !== undefined)
    problems.push(
      `--peers-dns ${portless.host} needs a port, such as ${portless.host}:3129, because --peer-listen has none`,
    );
  if (dnsServers.length > 0 && dns.length === 0)
    warnings.push('peersDnsServer has no effect without --peers-dns');
  const twice = addresses.find((address, i) => addresses.indexOf(address) !== i);
  if (twice !== undefined) problems.push(`the peer ${twice} is given twice; expected each neighbour once`);
  if (secretFile === null) {
    if (!written.has('peerSecret') || written.get('peerSecret')?.value === false)
      problems.push(
        `${ways[0]} needs --peer-secret: a file with the secret that all nodes of the fleet share`,
      );
    return null;
  }
  checkSecret(secretFile, problems, warnings);
  if (isTls) {
    const plain = [
      ...addresses.filter((address) => address.startsWith('http:')).map((address) => `--peer ${address}`),
      ...dns.filter(({ scheme }) => scheme === 'http').map((name) => `--peers-dns ${formatDnsName(name)}`),
      ...(listen?.secure === false ? [`--peer-listen ${formatListen(listen)}`] : []),
    ];
    for (const each of plain) problems.push(`${each} is without TLS; with --peer-cert, expected https://`);
  }
  const own = listen === null ? context.listen : [...context.listen, listen];
  const peers = addresses.filter((address) => !leadsHere(address, own));
  for (const address of addresses)
    if (!peers.includes(address)) warnings.push(`the peer ${address} is this node itself and is left out`);
  if (listen === null)
    warnings.push('neighbours cannot ask this node, because it has no --peer-listen; it only asks them');
  if (rest.mode === 'summary-cache' && written.has('peerCopies'))
    warnings.push('peerCopies has no effect with --peer-mode summary-cache, which keeps every copy');
  return { peers, dns, dnsServers, ...place, listen, secretFile, certificates, ...rest };
}

/** Settings that also hold for neighbours that are Squids (`squid-config.ts`). */
export function readCommon(
  reader: SettingReader,
): Pick<PeerConfig, 'budgetMs' | 'memoryBytes' | 'copiesShare' | 'share'> {
  return {
    budgetMs: reader.number('peerBudget', durationOf, 1, 60_000) ?? 250,
    memoryBytes: reader.number('peerMemory', sizeOf, 1e6, 1e12) ?? 128e6,
    copiesShare: reader.number('peerCopies', shareOf, 0, 0.9) ?? 0.1,
    share: reader.list('share', parseShare) ?? [],
  };
}

/** The settings as they stand in a configuration file. */
export function printPeers(config: PeerConfig | null): Readonly<Record<string, unknown>> {
  if (config === null) return {};
  return {
    peer: config.peers,
    peersDns: config.dns.length === 0 ? undefined : config.dns.map(formatDnsName),
    peersDnsServer: config.dnsServers.length === 0 ? undefined : config.dnsServers,
    ...printMeetingPlace(config),
    peerListen: config.listen === null ? undefined : formatListen(config.listen),
    peerSecret: config.secretFile,
    peerCert: config.certificates?.certFile,
    peerKey: config.certificates?.keyFile,
    peerCa: config.certificates?.caFile,
    peerBudget: formatDuration(config.budgetMs),
    peerMemory: formatSize(config.memoryBytes),
    peerCopies: config.copiesShare,
    peerBandwidth: formatSize(config.bandwidth),
    peerMode: config.mode,
    share: config.share,
  };
}

/** A name in the DNS that was written without a scheme has neighbours with TLS if all have it. */
function withScheme(name: DnsName, text: string, isTls: boolean): DnsName {
  return isTls && !text.includes('://') ? { ...name, scheme: 'https' } : name;
}

/** Parses the address of a name server: `10.0.0.53`, `10.0.0.53:5353`, `[fd00::53]:5353`. */
function parseServer(text: string): string {
  const [whole, bracketed, plain, port = '53'] =
    /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isAddress =
    whole === undefined ? isIPv6(text) : plain === undefined ? isIPv6(bracketed ?? '') : isIPv4(plain);
  if (!isAddress || Number(port) < 1 || Number(port) > 65_535)
    throw new TypeError(
      `expected the address of a name server such as 10.0.0.53 or [fd00::53]:5353, got ${JSON.stringify(text)}`,
    );
  return text;
}

/** Parses a prefix of URLs: `https://cdn.example/signed/`, or a host alone for all its paths. */
function parseShare(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  // A user or password is not repeated in the message.
  const got =
    url === null || url.username + url.password === '' ? JSON.stringify(text) : 'one with a user in it';
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search + url.hash !== ''
  ) {
    throw new TypeError(
      `expected a URL prefix such as https://cdn.example/signed/, without user and query, got ${got}`,
    );
  }
  return url.href;
}

function checkSecret(file: string, problems: string[], warnings: string[]): void {
  try {
    readPeerSecrets(file);
    if (isReadableByAll(file))
      warnings.push(`every user of this machine can read the secret in ${file}; chmod 600 ends that`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    problems.push(`--peer-secret: ${code === undefined ? message : `cannot read ${file}: ${code}`}`);
  }
}
