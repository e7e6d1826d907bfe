/**
 * The text that a node prints when it has started: its addresses, how to use it with common tools
 * (lines to copy, with the real port), where to inspect it, where its files are. It is plain text,
 * also in a pipe; `--quiet` omits it.
 *
 * The banner is honest about TLS: an https URL goes through a forward proxy as an opaque tunnel, so
 * it is not cached. To cache an https origin, clients request it under an upstream of this node.
 */

import { formatDnsName } from '@bloomery/transport/membership';
import { parseNatsUrl } from '@bloomery/transport/nats';
import { ADMIN_FIELD } from './admin/admin-access.ts';
import { ADMIN_PREFIX } from './admin/admin-reply.ts';
import { formatSize } from './config/amounts.ts';
import { formatListen, type ListenAddress, reachable } from './config/listen-address.ts';
import type { NodeConfig } from './config/node-config.ts';
import type { PeerConfig } from './config/peer-config.ts';

export interface BannerFacts {
  readonly listen: readonly ListenAddress[];
  readonly adminListen: ListenAddress | null;
  /** The folder for responses, or null if they are kept in memory only. */
  readonly folder: string | null;
  readonly version: string;
  /** The token that the node drew, or null if the operator set one. */
  readonly drawnToken: string | null;
  /** The command with which the reader starts the cache: `bloomery cache`, or `npm start --`. */
  readonly command: string;
}

export function banner(config: NodeConfig, facts: BannerFacts): string {
  const base = reachable(facts.listen[0]);
  const adminBase = reachable(facts.adminListen ?? facts.listen[0]);
  const admin = adminBase + ADMIN_PREFIX;
  const insecure = base.startsWith('https:') ? '-k ' : '';
  const lines = [
    `Bloomery cache ${facts.version} listens on ${facts.listen.map(formatListen).join(', ')}`,
    '',
    ...(config.forward ? forwardLines(base) : []),
    ...(config.upstreams.length > 0 ? upstreamLines(config, base, insecure) : []),
    'Look into it:',
    ...pairs([
      ['console', consoleAddress(config, facts)],
      ['status', `curl ${insecure}${admin}status`],
      ['metrics', `curl ${insecure}${admin}metrics    (for Prometheus)`],
      [
        'forget a URL',
        `curl ${insecure}-X POST -H '${ADMIN_FIELD}: 1' '${admin}purge?url=http%3A%2F%2Fexample.org%2F'`,
      ],
    ]),
    '',
    'Where things are:',
    ...pairs([
      ['memory', `up to ${formatSize(config.memoryBytes)}`],
      [
        'disk',
        facts.folder === null
          ? 'none (--disk FOLDER)'
          : `${facts.folder}, up to ${formatSize(config.disk?.bytes ?? 0)}; can be deleted when the node is stopped`,
      ],
      ['access log', config.accessLog ?? 'none (--access-log FILE)'],
      ['clients', `${config.allowClients.join(', ')} (--allow-client NETWORK for others)`],
      [
        'neighbours',
        config.peers === null
          ? 'none (--peer URL)'
          : `${namesOf(config.peers) || 'none yet'}    (${facts.command} peers --node ${adminBase})`,
      ],
      ['processes', config.workers === 1 ? 'one (--workers N for more)' : `${config.workers} workers`],
    ]),
    '',
    `Ctrl-C ends it after the running answers. All settings: ${facts.command} --help, and docs/guide/cache.md.`,
    ...(config.peers === null
      ? [`Several nodes that share what they hold: docs/guide/fleet.md, and ${facts.command} --demo.`]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}

function forwardLines(base: string): string[] {
  const [, host, port] = /\/\/(.*):(\d+)$/.exec(base) ?? [];
  return [
    'As a proxy (http is cached; https passes through as a tunnel, unseen and uncached):',
    ...pairs([
      ['curl', `curl -x ${base} -D - -o page http://example.org/    (twice: then Cache-Status says hit)`],
      ['apt', `sudo apt-get -o Acquire::http::Proxy=${base} update`],
      ['npm', `npm --proxy ${base} --https-proxy ${base} install`],
      ['pip', `pip download --proxy ${base} PACKAGE`],
      [
        'a browser',
        `chromium --proxy-server=${base}    (or in its settings: HTTP proxy ${host}, port ${port})`,
      ],
      ['the rest', `export http_proxy=${base} https_proxy=${base}`],
    ]),
    '',
    'As a cache in front of an https origin (a package registry, an API):',
    '  --upstream /name/=https://origin.example/',
    `  and then ${base}/name/… instead of https://origin.example/…`,
    '',
  ];
}

/** The address of the web page; the fragment with the token is never sent. */
function consoleAddress(config: NodeConfig, { listen, adminListen, drawnToken }: BannerFacts): string {
  if (config.upstreams.length > 0 && adminListen === null)
    return 'none beside pages of other sites (--admin-listen 127.0.0.1:PORT for one)';
  const page = `${reachable(adminListen ?? listen[0])}${ADMIN_PREFIX}console/`;
  return drawnToken === null ? `${page}    (it asks for the token)` : `${page}#token=${drawnToken}`;
}

function upstreamLines(config: NodeConfig, base: string, insecure: string): string[] {
  return [
    'In front of:',
    ...pairs(
      config.upstreams.map(({ prefix, origin }) => [origin, `curl ${insecure}${base}${prefix}`] as const),
    ),
    '',
  ];
}

function pairs(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** The places from which the neighbours are known. */
function namesOf({ peers, dns, nats, multicast }: PeerConfig): string {
  const broker = nats === null ? [] : [`by ${parseNatsUrl(nats.url).shown}, fleet ${nats.fleet}`];
  const group = multicast === null ? [] : [`by the multicast group ${multicast.group}`];
  return [...peers, ...dns.map(formatDnsName), ...broker, ...group].join(', ');
}
