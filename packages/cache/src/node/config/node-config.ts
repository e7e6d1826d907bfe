/**
 * The configuration of a node: defaults, then a JSON file, then the environment, then flags, each
 * stronger than the one before. Every value is checked before anything is opened, and all errors
 * are reported at once.
 *
 * `NodeConfig` is plain data that survives JSON: it is sent to worker processes, and `printConfig`
 * writes it as a file that yields the same node again.
 *
 * We refused a configuration language. Conditions belong in the program that writes the file.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { FreshnessRule } from '../../policy/freshness-rules.ts';
import { LIMIT_NAMES, LIMITS, type Limits } from '../../safety/limits.ts';
import { formatDuration, formatSize } from './amounts.ts';
import {
  ConfigError,
  readConfigFile,
  readEnvironment,
  readFlags,
  type WrittenSettings,
} from './config-sources.ts';
import { formatListen, type ListenAddress, parseListen } from './listen-address.ts';
import { parseMetadataOrigin } from './metadata-origin.ts';
import { type NetworkList, parseNetworks } from './network-list.ts';
import { checkPeerCertificates } from './peer-certificates.ts';
import { type PeerConfig, printPeers, readPeers } from './peer-config.ts';
import { formatRule, parseRule, parseSetName, rulesOfSet } from './rule-config.ts';
import {
  durationOf,
  fieldName,
  fractionOf,
  hostName,
  networks,
  portOf,
  SettingReader,
  sizeOf,
  wholeNumberOf,
} from './setting-reader.ts';
import { printSquids, readSquids, type SquidConfig } from './squid-config.ts';
import { printToken, readToken } from './token-config.ts';
import { parseUpstream, type UpstreamConfig } from './upstream-config.ts';

export interface NodeConfig {
  /** The configured name, or null for one that the node chooses and keeps (node-name.ts). */
  readonly name: string | null;
  readonly listen: readonly ListenAddress[];
  /** The port was not configured: if it is in use, the next free one is taken. */
  readonly listenDefaulted: boolean;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly upstreams: readonly UpstreamConfig[];
  readonly forward: boolean;
  /** Names of this node in URLs, in addition to localhost and its addresses. */
  readonly publicHosts: readonly string[];
  readonly connectPorts: readonly number[];
  readonly memoryBytes: number;
  readonly disk: { readonly folder: string; readonly bytes: number } | null;
  /** The folder was not configured: if another node uses it, one next to it is taken. */
  readonly diskDefaulted: boolean;
  readonly allowClients: NetworkList;
  /** Networks of proxies in front of this node that say who the client is. */
  readonly trustForwarded: NetworkList;
  readonly adminClients: NetworkList;
  readonly adminHosts: readonly string[];
  readonly adminListen: ListenAddress | null;
  /** The operator's token for changes, and the file that it is from; null if there is none. */
  readonly adminToken: { readonly text: string; readonly file: string | null } | null;
  /** Whether the console shows URLs. */
  readonly consoleUrls: boolean;
  readonly addresses: {
    readonly allowPrivate: boolean;
    readonly allow: NetworkList;
    readonly deny: NetworkList;
  };
  /** Whether bodies are compared with the digest that their name or their head states. */
  readonly verifyDigests: boolean;
  /** Origins of metadata, each with another origin whose files it may name. */
  readonly metadataOrigins: readonly (readonly [metadata: string, files: string])[];
  readonly workers: number;
  /** A file, - for standard output, or null for no access log. */
  readonly accessLog: string | null;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  readonly logFormat: 'json' | 'text';
  readonly limits: Limits;
  readonly shutdownMs: number;
  /** Time after SIGTERM in which the node is not ready, and still takes connections. */
  readonly shutdownDelayMs: number;
  /** PEM file of authorities that are trusted for origins in addition to the system's. */
  readonly originCaFile: string | null;
  readonly policy: {
    readonly targetedFields: readonly string[];
    readonly heuristicFraction: number;
    readonly heuristicMaxMs: number;
    /** The operator's own rules, followed by those of the sets. */
    readonly rules: readonly FreshnessRule[];
    readonly forwardedFields: 'keep' | 'replace';
  };
  /** The operator's own rules, and the names of the ready-made sets. */
  readonly rules: { readonly own: readonly FreshnessRule[]; readonly sets: readonly string[] };
  /** Cooperation with neighbours, or null for a node that is alone. */
  readonly peers: PeerConfig | null;
  /** Cooperation with Squids, or null if there are none. */
  readonly squids: SquidConfig | null;
  /** Settings that are allowed but may surprise. */
  readonly warnings: readonly string[];
}

export interface ConfigSources {
  /** Path of a JSON file. */
  readonly file?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Flags, by the names of the settings in the file. */
  readonly flags?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Loads the configuration. Throws a `ConfigError` that names all problems, or the file system's
 * error for the file.
 */
export function loadConfig({ file, environment = {}, flags = {} }: ConfigSources = {}): NodeConfig {
  const problems: string[] = [];
  const written: WrittenSettings = new Map([
    ...(file === undefined ? [] : readConfigFile(file, problems)),
    ...readEnvironment(environment, problems),
    ...readFlags(flags, problems),
  ]);
  const reader = new SettingReader(written, problems);
  const config = interpret(reader, written, problems);
  checkTogether(config, written, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** The configuration as a configuration file. */
export function printConfig(config: NodeConfig): string {
  const { tls, disk, policy } = config;
  const limits = LIMIT_NAMES.map((name) => {
    const value = config.limits[name];
    const { unit } = LIMITS[name];
    return [name, unit === 'bytes' ? formatSize(value) : unit === 'ms' ? formatDuration(value) : value];
  });
  const content = {
    name: config.name ?? undefined,
    listen: config.listen.map(formatListen),
    tlsCert: tls?.certFile,
    tlsKey: tls?.keyFile,
    upstream: Object.fromEntries(config.upstreams.map(({ prefix, origin }) => [prefix, origin])),
    forward: config.forward,
    publicHost: config.publicHosts,
    connectPorts: config.connectPorts,
    memory: formatSize(config.memoryBytes),
    disk: disk === null ? false : disk.folder,
    diskSize: disk === null ? undefined : formatSize(disk.bytes),
    allowClient: config.allowClients,
    trustForwarded: config.trustForwarded,
    adminClient: config.adminClients,
    adminHost: config.adminHosts,
    adminListen: config.adminListen === null ? undefined : formatListen(config.adminListen),
    ...printToken(config.adminToken),
    consoleUrls: config.consoleUrls,
    allowPrivate: config.addresses.allowPrivate,
    allowAddress: config.addresses.allow,
    denyAddress: config.addresses.deny,
    verifyDigests: config.verifyDigests,
    metadataOrigin: config.metadataOrigins.map(([metadata, files]) => `${metadata}=${files}`),
    workers: config.workers,
    accessLog: config.accessLog ?? false,
    logLevel: config.logLevel,
    logFormat: config.logFormat,
    limits: Object.fromEntries(limits),
    originCa: config.originCaFile ?? undefined,
    shutdownTimeout: formatDuration(config.shutdownMs),
    shutdownDelay: formatDuration(config.shutdownDelayMs),
    targetedFields: policy.targetedFields,
    heuristicFraction: policy.heuristicFraction,
    heuristicMax: formatDuration(policy.heuristicMaxMs),
    rule: config.rules.own.map(formatRule),
    rules: config.rules.sets,
    ...printSquids(config.squids),
    ...printPeers(config.peers),
  };
  return JSON.stringify(content, null, 2);
}

/**
 * The user's folder for data that can be fetched again (XDG Base Directory Specification: an empty
 * or relative value is ignored).
 */
export function defaultDiskFolder(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const { XDG_CACHE_HOME: chosen } = environment;
  return join(
    chosen !== undefined && isAbsolute(chosen) ? chosen : join(homedir(), '.cache'),
    'bloomery',
    'http',
  );
}

function interpret(reader: SettingReader, written: WrittenSettings, problems: string[]): NodeConfig {
  const certFile = reader.path('tlsCert');
  const keyFile = reader.path('tlsKey');
  const tls = certFile !== null && keyFile !== null ? { certFile, keyFile } : null;
  const parseHere = (text: string) => parseListen(text, certFile !== null);
  const listen = reader.someOf('listen', parseHere) ?? [parseHere('127.0.0.1:3128')];
  const upstreams =
    reader.list('upstream', parseUpstream, (object) =>
      Object.entries(object).map(([prefix, origin]) => `${prefix}=${origin}`),
    ) ?? [];
  const forward = reader.switch('forward') ?? upstreams.length === 0;
  const diskFolder = reader.path('disk', () => defaultDiskFolder());
  const diskBytes = reader.number('diskSize', sizeOf, 1e6, 1e15) ?? 2e9;
  const allowClients = networks(reader, 'allowClient') ?? parseNetworks('loopback');
  const trustForwarded = networks(reader, 'trustForwarded') ?? [];
  const warnings: string[] = [];
  if (trustForwarded.some((network) => network.endsWith('/0')))
    warnings.push('every client can claim any address (--trust-forwarded all)');
  if (forward && allowClients.some((network) => network.endsWith('/0'))) {
    warnings.push('every client that reaches this node can use it as a proxy (--allow-client all)');
  }
  if (diskFolder === null && written.has('diskSize'))
    warnings.push('diskSize has no effect without a disk folder');
  const name =
    reader.text(
      'name',
      /^[!#$%&'*+.^_`|~\w-]{1,64}$/,
      'a name of letters, digits, dots and dashes, up to 64 of them',
    ) ?? null;
  const accessLog = reader.path('accessLog');
  const peers = readPeers(reader, written, { listen, problems, warnings });
  const certificates = peers?.certificates ?? null;
  const rules = {
    own: reader.list('rule', parseRule) ?? [],
    sets: reader.list('rules', parseSetName, undefined, true) ?? [],
  };
  return {
    name: certificates === null ? name : checkPeerCertificates(certificates, name, { problems, warnings }),
    listen,
    listenDefaulted: !written.has('listen'),
    tls,
    upstreams,
    forward,
    publicHosts: (reader.list('publicHost', hostName) ?? []).map((host) => host.toLowerCase()),
    connectPorts: reader.list('connectPorts', portOf, undefined, true) ?? [443],
    memoryBytes: reader.number('memory', sizeOf, 1e6, 1e12) ?? 256e6,
    disk: diskFolder === null ? null : { folder: diskFolder, bytes: diskBytes },
    diskDefaulted: !written.has('disk'),
    allowClients,
    trustForwarded,
    adminClients: networks(reader, 'adminClient') ?? parseNetworks('loopback'),
    adminHosts: (reader.list('adminHost', hostName) ?? []).map((host) => host.toLowerCase()),
    adminListen: reader.one('adminListen', (text) => parseListen(text, false)) ?? null,
    adminToken: readToken(reader, problems),
    consoleUrls: reader.switch('consoleUrls') ?? accessLog !== null,
    addresses: {
      allowPrivate: reader.switch('allowPrivate') ?? false,
      allow: networks(reader, 'allowAddress') ?? [],
      deny: networks(reader, 'denyAddress') ?? [],
    },
    verifyDigests: reader.switch('verifyDigests') ?? true,
    metadataOrigins: reader.list('metadataOrigin', parseMetadataOrigin) ?? [],
    workers: reader.number('workers', wholeNumberOf, 1, 64) ?? 1,
    accessLog,
    logLevel: reader.choice('logLevel', ['debug', 'info', 'warn', 'error']) ?? 'info',
    logFormat: reader.choice('logFormat', ['json', 'text']) ?? (process.stderr.isTTY ? 'text' : 'json'),
    limits: reader.limits(),
    shutdownMs: reader.number('shutdownTimeout', durationOf, 0, 86_400_000) ?? 30_000,
    shutdownDelayMs: reader.number('shutdownDelay', durationOf, 0, 3_600_000) ?? 0,
    originCaFile: reader.path('originCa'),
    policy: {
      targetedFields: reader.list('targetedFields', fieldName, undefined, true) ?? ['CDN-Cache-Control'],
      heuristicFraction: reader.number('heuristicFraction', fractionOf, 0, 1) ?? 0.1,
      heuristicMaxMs: reader.number('heuristicMax', durationOf, 0, 366 * 86_400_000) ?? 86_400_000,
      rules: [...rules.own, ...rules.sets.flatMap(rulesOfSet)],
      forwardedFields: trustForwarded.length > 0 ? 'replace' : 'keep',
    },
    rules,
    peers,
    squids: readSquids(reader, written, { listen, forward, problems, warnings }),
    warnings,
  };
}

/** Checks combinations of values that are valid separately but not together. */
function checkTogether(config: NodeConfig, written: WrittenSettings, problems: string[]): void {
  const { listen, tls, upstreams } = config;
  if (written.has('tlsCert') !== written.has('tlsKey')) {
    const [here, missing] = written.has('tlsCert') ? ['tlsCert', '--tls-key'] : ['tlsKey', '--tls-cert'];
    problems.push(
      `${written.get(here)?.from} needs ${missing} as well: a certificate and its key belong together`,
    );
  } else if (tls !== null) checkCertificate(tls, problems);
  if (config.originCaFile !== null) checkAuthorities(config.originCaFile, problems);
  const peerListen = config.peers?.certificates == null ? config.peers?.listen : null;
  const addresses = [...listen, config.adminListen, peerListen].filter((one) => one != null);
  const encrypted = addresses.find(({ secure }) => secure);
  if (encrypted !== undefined && !written.has('tlsCert'))
    problems.push(`${formatListen(encrypted)} needs --tls-cert and --tls-key`);
  const used = config.peers?.listen == null ? listen : [...listen, config.peers.listen];
  const places = used.filter(({ port }) => port !== 0).map(({ host, port }) => `${host}:${port}`);
  const twice = places.find((place, i) => places.indexOf(place) !== i);
  if (twice !== undefined) problems.push(`${twice} is listened on twice`);
  const prefixes = upstreams.map(({ prefix }) => prefix);
  const same = prefixes.find((prefix, i) => prefixes.indexOf(prefix) !== i);
  if (same !== undefined) problems.push(`the prefix ${same} has two upstreams; expected one`);
  if (!config.forward && upstreams.length === 0 && problems.length === 0) {
    problems.push('nothing to do: a node needs an --upstream, or --forward');
  }
}

function checkCertificate(
  { certFile, keyFile }: { certFile: string; keyFile: string },
  problems: string[],
): void {
  const cert = readOr(problems, '--tls-cert', certFile);
  const key = readOr(problems, '--tls-key', keyFile);
  if (cert === null || key === null) return;
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    problems.push(
      `the certificate ${certFile} and the key ${keyFile} cannot be used: ${(error as Error).message}`,
    );
  }
}

/** Node silently ignores content of such a file that is not a certificate. */
function checkAuthorities(file: string, problems: string[]): void {
  const content = readOr(problems, '--origin-ca', file);
  if (content === null) return;
  try {
    new X509Certificate(content);
  } catch (error) {
    problems.push(`--origin-ca: expected certificates (PEM) in ${file}: ${(error as Error).message}`);
  }
}

/** The content, or null if the file cannot be read, which is added to the problems. */
function readOr(problems: string[], flag: string, file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    problems.push(`${flag}: cannot read ${file}: ${code ?? message}`);
    return null;
  }
}
