/**
 * The settings for a fleet over NATS, read and checked together. With `--nats` the nodes find each
 * other through the server and exchange summaries there; objects still go from peer port to peer
 * port. Null without `--nats`.
 *
 * The address of the server may have a user and a password in it. `--print-config`, logs and pages
 * show it without them. Everything on a command line is visible to the users of a machine, so a
 * file (`--nats-creds`) or the environment is the better place.
 */

import { readFileSync } from 'node:fs';
import { isFleetName, type NatsServerOptions, parseNatsUrl } from '@bloomery/transport/nats';
import type { WrittenSettings } from '../config-sources.ts';
import type { SettingReader } from '../setting-reader.ts';

export interface NatsConfig {
  /** The server, with user and password if they were given. */
  readonly url: string;
  readonly fleet: string;
  readonly credsFile: string | null;
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
}

const NATS_SETTINGS = ['natsFleet', 'natsCreds', 'natsCa', 'natsCert', 'natsKey'] as const;

const LOOPBACK = /^(?:127\.[\d.]+|\[::1\]|localhost):\d+$/;

/** Reads the settings for NATS. */
export function readNats(
  reader: SettingReader,
  written: WrittenSettings,
  context: {
    problems: string[];
    warnings: string[];
  },
): NatsConfig | null {
  const { problems, warnings } = context;
  const url = reader.one('nats', (text) => {
    parseNatsUrl(text);
    return text;
  });
  const fleet = reader.one('natsFleet', parseFleet) ?? 'default';
  const files = {
    credsFile: reader.path('natsCreds'),
    caFile: reader.path('natsCa'),
    certFile: reader.path('natsCert'),
    keyFile: reader.path('natsKey'),
  };
  if (url === undefined) {
    const idle = written.has('nats') ? [] : NATS_SETTINGS.filter((key) => written.has(key));
    for (const key of idle) warnings.push(`${key} has no effect without --nats`);
    return null;
  }
  if ((files.certFile === null) !== (files.keyFile === null))
    problems.push('--nats-cert and --nats-key belong together; only one of them is given');
  const nats = { url, fleet, ...files };
  try {
    natsServer(nats);
  } catch (error) {
    const { code, path, message } = error as NodeJS.ErrnoException;
    problems.push(code === undefined ? message : `--nats: cannot read ${path}: ${code}`);
  }
  const { servers, isTls, password, token } = parseNatsUrl(url);
  const isOpen = !isTls && files.caFile === null && !servers.every((server) => LOOPBACK.test(server));
  if (isOpen && (password !== null || token !== null))
    warnings.push('the password of --nats goes over the network unencrypted; tls:// ends that');
  return nats;
}

/** The server as the transport takes it. Reads the files, and throws the file system's error. */
export function natsServer({ url, credsFile, caFile, certFile, keyFile }: NatsConfig): NatsServerOptions {
  const read = (file: string | null) => (file === null ? undefined : readFileSync(file));
  const tls = { ca: read(caFile), cert: read(certFile), key: read(keyFile) };
  return {
    url,
    credentials: read(credsFile),
    tls: caFile === null && certFile === null ? undefined : tls,
  };
}

/** The settings as they stand in a configuration file, without user and password. */
export function printNats(nats: NatsConfig | null): Record<string, unknown> {
  if (nats === null) return {};
  return {
    nats: parseNatsUrl(nats.url).shown,
    natsFleet: nats.fleet,
    natsCreds: nats.credsFile ?? undefined,
    natsCa: nats.caFile ?? undefined,
    natsCert: nats.certFile ?? undefined,
    natsKey: nats.keyFile ?? undefined,
  };
}

function parseFleet(text: string): string {
  if (isFleetName(text)) return text;
  throw new TypeError(
    `expected the name of a fleet: up to 64 letters, digits, _ and -, got ${JSON.stringify(text)}`,
  );
}
