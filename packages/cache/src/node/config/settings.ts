/**
 * Every setting of a node, in one table: its name in the configuration file, its flag, its type,
 * and its text for `--help`. The command builds its options from it, `node-config.ts` its checks,
 * and a test compares it with the tables in docs/guide/cache.md and docs/guide/fleet.md.
 * This file imports nothing, because the command loads it whenever a user asks for help.
 *
 * The name in the file is the flag in camel case (`--disk-size`, `diskSize`), and in the
 * environment it is in capitals (`BLOOMERY_CACHE_DISK_SIZE`). A setting that can be repeated is a
 * list in the file, and is separated by spaces or commas in the environment. A setting replaces its
 * value from weaker sources (defaults, file, environment, flags: each stronger than the one
 * before).
 */

export interface Setting {
  /** The name in the configuration file. */
  readonly key: string;
  /** The name on the command line, without its dashes. */
  readonly flag: string;
  readonly kind: 'text' | 'size' | 'duration' | 'count' | 'switch' | 'fraction' | 'limits';
  /** The placeholder in `--help`; a switch has none. */
  readonly placeholder?: string;
  readonly several?: boolean;
  readonly choices?: readonly string[];
  /** The default as a user would write it, or empty if there is none. */
  readonly initial: string;
  /** A switch that is on by default, or a value that can be turned off, also has `--no-…`. */
  readonly negatable?: boolean;
  /** Whether SIGHUP changes it in a running node. */
  readonly live: boolean;
  readonly help: string;
}

export const SETTINGS: readonly Setting[] = [
  {
    key: 'listen',
    flag: 'listen',
    kind: 'text',
    placeholder: 'address:port',
    several: true,
    initial: '127.0.0.1:3128',
    live: false,
    help: 'where clients connect; https:// before it for TLS, http:// for none (can be repeated)',
  },
  {
    key: 'tlsCert',
    flag: 'tls-cert',
    kind: 'text',
    placeholder: 'file',
    initial: '',
    live: true,
    help: 'certificate chain (PEM); with it, addresses without http:// speak TLS',
  },
  {
    key: 'tlsKey',
    flag: 'tls-key',
    kind: 'text',
    placeholder: 'file',
    initial: '',
    live: true,
    help: 'private key of the certificate (PEM)',
  },
  {
    key: 'upstream',
    flag: 'upstream',
    kind: 'text',
    placeholder: '/prefix=url',
    several: true,
    initial: '',
    live: true,
    help: 'reverse proxy: what comes under the prefix is asked of this origin (can be repeated; the longest prefix wins)',
  },
  {
    key: 'forward',
    flag: 'forward',
    kind: 'switch',
    initial: 'on without --upstream, else off',
    negatable: true,
    live: true,
    help: 'forward proxy: take requests for any origin',
  },
  {
    key: 'publicHost',
    flag: 'public-host',
    kind: 'text',
    placeholder: 'name',
    several: true,
    initial: '',
    live: true,
    help: 'reverse proxy: a name of this node in URLs, beside localhost and its addresses; GET http://other/ gets 421 (can be repeated)',
  },
  {
    key: 'connectPorts',
    flag: 'connect-ports',
    kind: 'count',
    placeholder: 'ports',
    several: true,
    initial: '443',
    live: true,
    help: 'ports to which CONNECT may open tunnels, with commas; "none" forbids tunnels',
  },
  {
    key: 'memory',
    flag: 'memory',
    kind: 'size',
    placeholder: 'size',
    initial: '256MB',
    live: false,
    help: 'for responses kept in memory',
  },
  {
    key: 'disk',
    flag: 'disk',
    kind: 'text',
    placeholder: 'folder',
    initial: '$XDG_CACHE_HOME/bloomery/http',
    negatable: true,
    live: false,
    help: 'where responses are kept that should outlive this process; --no-disk for none',
  },
  {
    key: 'diskSize',
    flag: 'disk-size',
    kind: 'size',
    placeholder: 'size',
    initial: '2GB',
    live: false,
    help: 'for responses kept on disk',
  },
  {
    key: 'name',
    flag: 'name',
    kind: 'text',
    placeholder: 'name',
    initial: 'bloomery- and eight random digits, kept in the disk folder',
    live: true,
    help: 'how the node calls itself in Via and Cache-Status; no two in a row may share a name',
  },
  {
    key: 'allowClient',
    flag: 'allow-client',
    kind: 'text',
    placeholder: 'cidr',
    several: true,
    initial: 'loopback',
    live: true,
    help: 'who may use the node: an address or network such as 10.0.0.0/8, "loopback" or "all" (can be repeated)',
  },
  {
    key: 'adminClient',
    flag: 'admin-client',
    kind: 'text',
    placeholder: 'cidr',
    several: true,
    initial: 'loopback',
    live: true,
    help: 'who may read status and metrics and purge; "none" for no client (can be repeated)',
  },
  {
    key: 'adminHost',
    flag: 'admin-host',
    kind: 'text',
    placeholder: 'name',
    several: true,
    initial: '',
    live: true,
    help: 'a host name under which status and metrics may be asked for, beside localhost and addresses (can be repeated)',
  },
  {
    key: 'adminListen',
    flag: 'admin-listen',
    kind: 'text',
    placeholder: 'address:port',
    initial: '',
    live: false,
    help: 'serve status, metrics and purge here and nowhere else',
  },
  {
    key: 'allowPrivate',
    flag: 'allow-private',
    kind: 'switch',
    initial: 'off',
    live: true,
    help: 'let forward requests reach loopback and private addresses',
  },
  {
    key: 'allowAddress',
    flag: 'allow-address',
    kind: 'text',
    placeholder: 'cidr',
    several: true,
    initial: '',
    live: true,
    help: 'let forward requests reach these addresses although they are private (can be repeated)',
  },
  {
    key: 'denyAddress',
    flag: 'deny-address',
    kind: 'text',
    placeholder: 'cidr',
    several: true,
    initial: '',
    live: true,
    help: 'never connect to these addresses (can be repeated)',
  },
  {
    key: 'originCa',
    flag: 'origin-ca',
    kind: 'text',
    placeholder: 'file',
    initial: '',
    live: true,
    help: 'certificates (PEM) of authorities that are trusted for origins, beside those of the system',
  },
  {
    key: 'workers',
    flag: 'workers',
    kind: 'count',
    placeholder: 'count',
    initial: '1',
    live: false,
    help: 'processes that share the ports',
  },
  {
    key: 'accessLog',
    flag: 'access-log',
    kind: 'text',
    placeholder: 'file',
    initial: '',
    negatable: true,
    live: true,
    help: 'write a line for each answer; - is standard output',
  },
  {
    key: 'logLevel',
    flag: 'log-level',
    kind: 'text',
    placeholder: 'level',
    choices: ['debug', 'info', 'warn', 'error'],
    initial: 'info',
    live: true,
    help: 'what is logged on standard error',
  },
  {
    key: 'logFormat',
    flag: 'log-format',
    kind: 'text',
    placeholder: 'format',
    choices: ['json', 'text'],
    initial: 'text on a terminal, else json',
    live: true,
    help: 'how logs are written',
  },
  {
    key: 'limits',
    flag: 'limit',
    kind: 'limits',
    placeholder: 'name=value',
    several: true,
    initial: '',
    live: true,
    help: 'change a bound, such as connections=1000 or originHeadTimeoutMs=20s (can be repeated)',
  },
  {
    key: 'shutdownTimeout',
    flag: 'shutdown-timeout',
    kind: 'duration',
    placeholder: 'time',
    initial: '30s',
    live: true,
    help: 'how long running answers may take after SIGTERM',
  },
  {
    key: 'targetedFields',
    flag: 'targeted-fields',
    kind: 'text',
    placeholder: 'names',
    several: true,
    initial: 'CDN-Cache-Control',
    live: true,
    help: 'fields obeyed before Cache-Control (RFC 9213), with commas; "none" for none',
  },
  {
    key: 'heuristicFraction',
    flag: 'heuristic-fraction',
    kind: 'fraction',
    placeholder: 'part',
    initial: '0.1',
    live: true,
    help: 'how long a response without lifetime is fresh, as a part of its age when it came; 0 for never',
  },
  {
    key: 'heuristicMax',
    flag: 'heuristic-max',
    kind: 'duration',
    placeholder: 'time',
    initial: '1d',
    live: true,
    help: 'and at most this long',
  },
  {
    key: 'peer',
    flag: 'peer',
    kind: 'text',
    placeholder: 'url',
    several: true,
    initial: '',
    live: false,
    help: 'peer port of a neighbour whose cache is asked before the origin, such as http://10.0.0.2:3129 (can be repeated)',
  },
  {
    key: 'peerListen',
    flag: 'peer-listen',
    kind: 'text',
    placeholder: 'address:port',
    initial: '',
    live: false,
    help: 'where neighbours connect; 3129 by convention',
  },
  {
    key: 'peerSecret',
    flag: 'peer-secret',
    kind: 'text',
    placeholder: 'file',
    initial: '',
    live: false,
    help: 'file with the secret that all nodes of the fleet share; two lines while it changes',
  },
  {
    key: 'peerBudget',
    flag: 'peer-budget',
    kind: 'duration',
    placeholder: 'time',
    initial: '250ms',
    live: false,
    help: 'how long all neighbours together may delay the first byte of an answer',
  },
  {
    key: 'peerMemory',
    flag: 'peer-memory',
    kind: 'size',
    placeholder: 'size',
    initial: '128MB',
    live: false,
    help: 'for the summaries of all neighbours',
  },
  {
    key: 'peerCopies',
    flag: 'peer-copies',
    kind: 'fraction',
    placeholder: 'share',
    initial: '10%',
    live: false,
    help: 'part of the memory for copies that came from neighbours; 0 keeps none',
  },
  {
    key: 'peerBandwidth',
    flag: 'peer-bandwidth',
    kind: 'size',
    placeholder: 'size',
    initial: '125kB',
    live: false,
    help: 'bytes of summaries per second for each neighbour; beyond it updates slow down',
  },
  {
    key: 'peerMode',
    flag: 'peer-mode',
    kind: 'text',
    placeholder: 'mode',
    choices: ['single', 'summary-cache'],
    initial: 'single',
    live: false,
    help: 'summary-cache keeps and publishes every response, also copies, as Summary Cache did',
  },
  {
    key: 'share',
    flag: 'share',
    kind: 'text',
    placeholder: 'url-prefix',
    several: true,
    initial: '',
    live: false,
    help: 'share responses below this URL with neighbours although their query looks like a secret (can be repeated)',
  },
];

/** Flags of the command that are not settings. */
export const COMMAND_FLAGS = [
  'config',
  'print-config',
  'check-config',
  'quiet',
  'demo',
  'keep',
  'help',
] as const;

export const ENVIRONMENT_PREFIX = 'BLOOMERY_CACHE_';

/** `diskSize` → `BLOOMERY_CACHE_DISK_SIZE`. */
export function environmentName(setting: Setting): string {
  return ENVIRONMENT_PREFIX + setting.flag.toUpperCase().replaceAll('-', '_');
}
