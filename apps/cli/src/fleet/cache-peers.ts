/**
 * `bloomery cache peers`: shows the neighbours of a running node: which of them it knows, how old
 * and how large their summaries are, how often each was right, and why one is not asked. It reads
 * the status of the node (`/.bloomery/status`), so it needs no access to its files, and works from
 * every machine that may read the status (`--admin-client`).
 */

import type { CooperationReport, PeerReport, SquidsReport } from '@bloomery/cache';
import { formatPairs, formatTable } from '@bloomery/papers/drawing';
import type { Command } from 'commander';
import { withExamples, withJson } from '../command-options.ts';
import { formatBytes, formatCount, formatRate, formatSeconds } from '../terminal/format-values.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';
import { askNode } from './ask-node.ts';

interface PeersOptions {
  readonly node: string;
  readonly json?: boolean;
}

/** How long a node may take to answer. */
const ANSWER_MS = 10_000;

export function registerPeers(cache: Command): void {
  const command = cache
    .command('peers')
    .description('the neighbours of a running node, and what it thinks of them')
    .option('--node <url>', 'where the node, or its --admin-listen, is reached', 'http://127.0.0.1:3128')
    .action((options: PeersOptions) => run(options));
  withExamples(withJson(command), [
    ['bloomery cache peers', 'the neighbours of the node on this machine'],
    ['bloomery cache peers --node http://10.0.0.7:3128', 'those of another one'],
    [
      "bloomery cache peers --json | jq '.peers[] | select(.masked) | .address'",
      'which ones are not asked at present',
    ],
  ]);
}

async function run({ node, json }: PeersOptions): Promise<void> {
  const { cooperation, squids } = await readReport(node);
  if (json) {
    const {
      own = null,
      peers = [],
      groups = null,
      dns = [],
      nats = null,
      multicast = null,
    } = cooperation ?? {};
    writeJson({ own, peers, groups, dns, nats, multicast, squids });
    return;
  }
  const parts = [
    cooperation === null ? [] : describeCooperation(cooperation),
    squids === null ? [] : describeSquids(squids),
  ].filter(({ length }) => length > 0);
  for (const [at, lines] of parts.entries())
    for (const line of at === 0 ? lines : ['', ...lines]) writeLine(line);
}

interface Neighbours {
  readonly cooperation: CooperationReport | null;
  readonly squids: SquidsReport | null;
}

async function readReport(node: string): Promise<Neighbours> {
  const { text, origin } = await askNode({ node, path: '/.bloomery/status', withinMs: ANSWER_MS });
  const status = parse(text);
  if (status === undefined) throw new UsageError(`${origin} is no bloomery cache`);
  const { cooperation = null, squids = null } = status;
  if (cooperation === null && squids === null)
    throw new UsageError(`the node at ${origin} has no neighbours (--peer, --squid)`);
  return { cooperation, squids };
}

function parse(text: string): Partial<Neighbours> | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'requests' in value ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The report as lines for a terminal. */
function describeCooperation({ own, peers, dns, nats, multicast, groups }: CooperationReport): string[] {
  return [
    formatPairs([
      ['node', own.id],
      ['reached at', own.listen.join(', ')],
      ['secrets', own.keys.map(({ id, objects }) => `${id} (${objectsText(objects)})`).join(', ')],
      ['its summary', summaryOf(own)],
      ['published', `${formatCount(own.updates)} updates, ${formatBytes(own.bytesPublished)}`],
      ['served', `${objectsText(own.objectsServed)}, ${formatBytes(own.bytesServed)}`],
      ['summaries', `${formatBytes(own.memoryBytes)} of ${formatBytes(own.memoryLimitBytes)}`],
      ...dns.map((each): [string, string] => ['dns', lookupsOf(each)]),
      ...(nats == null ? [] : [['nats', natsOf(nats)] as [string, string]]),
      ...(multicast == null ? [] : [['multicast', multicastOf(multicast)] as [string, string]]),
      ...(groups == null ? [] : groupPairs(groups)),
    ]),
    '',
    ...tableOf(peers),
    ...(groups == null ? [] : ['', ...groupTable(groups)]),
  ];
}

/** The Squids as lines for a terminal. */
function describeSquids({ served, squids }: SquidsReport): string[] {
  const { digests = 0, objects = null } = served ?? {};
  const text = objects === null ? 'none yet' : `${formatCount(digests)}, the last of ${objectsText(objects)}`;
  return [
    ...(served === null ? [] : [formatPairs([['digests served to Squids', text]])]),
    ...(squids.length === 0 ? [] : tableOf(squids)),
  ];
}

function tableOf(peers: readonly PeerReport[]): string[] {
  const rows = peers.map((peer) => [
    peer.id ?? peer.dnsName ?? peer.address,
    stateOf(peer),
    peer.source,
    keysOf(peer),
    formatCount(peer.objects),
    peer.silentMs === null ? '–' : formatSeconds(peer.silentMs / 1000),
    formatBytes(peer.summaryBytes),
    formatCount(peer.trueHits),
    formatCount(peer.falseHits),
    formatCount(peer.trueMisses),
    formatCount(peer.falseMisses),
    formatCount(peer.late),
    formatCount(peer.failures - peer.late),
    peer.latencyMs === null ? '–' : `${Number(peer.latencyMs.median.toPrecision(2))} ms`,
    formatBytes(peer.objectBytes),
  ]);
  return [
    ...formatTable([HEADINGS, ...rows], { right: [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] }).split('\n'),
    ...peers
      .filter(({ objects, falsePositiveRate }) => objects > 0 && falsePositiveRate > 0.01)
      .map(
        ({ id, address, falsePositiveRate }) =>
          `${id ?? address}: its summary is wrong for ${formatRate(falsePositiveRate)} of other keys`,
      ),
  ];
}

function objectsText(count: number): string {
  return count === 1 ? '1 object' : `${formatCount(count)} objects`;
}

/** The rate is told if it is worth a look: a summary of millions of objects is coarse. */
function summaryOf({ objects, generation, falsePositiveRate }: CooperationReport['own']): string {
  const text = `${objectsText(objects)}, generation ${generation}`;
  return falsePositiveRate > 0.01
    ? `${text}, wrong for ${formatRate(falsePositiveRate)} of other keys`
    : text;
}

function lookupsOf({ name, members, answeredMs, problem }: CooperationReport['dns'][number]): string {
  const age = answeredMs === null ? 'no answer yet' : `answered ${formatSeconds(answeredMs / 1000)} ago`;
  return `${name}: ${formatCount(members)} others, ${age}${problem === null ? '' : `, now: ${problem}`}`;
}

function natsOf(report: NatsReport): string {
  const { server, fleet, isConnected, why, hasStates, reconnects, refused } = report;
  const link = isConnected ? 'connected' : `not connected: ${why}`;
  const states = isConnected && !hasStates ? ', without JetStream' : '';
  const again = reconnects === 0 ? '' : `, ${formatCount(reconnects)} reconnects`;
  return `${server}, fleet ${fleet}, ${link}${states}${again}${refusalsOf(refused)}`;
}

function multicastOf(report: MulticastReport): string {
  const { group, isJoined, why, sent, repeated, fetched, givenUp, refused } = report;
  const link = isJoined ? 'joined' : `not joined: ${why}`;
  const counts = `${formatCount(sent)} sent, ${formatCount(repeated)} repeated, ${formatCount(fetched)} fetched`;
  const lost = givenUp === 0 ? '' : `, ${formatCount(givenUp)} given up`;
  return `${group}, ${link}, ${counts}${lost}${refusalsOf(refused)}`;
}

function groupPairs(groups: GroupsReport): [string, string][] {
  const { group, members, ungrouped, questions, hits, refused, failed, objectBytes, fetched } = groups;
  const leader = groups.isLeader ? 'this node leads it' : leaderOf(groups);
  const ends = `${formatCount(hits)} hits, ${formatCount(refused)} refused, ${formatCount(failed)} failed`;
  const without = ungrouped === 0 ? '' : `; ${formatCount(ungrouped)} nodes of the fleet have no --group`;
  return [
    ['group', `${group}, ${leader}, epoch ${groups.epoch ?? '–'}, ${formatCount(members)} nodes${without}`],
    ['other groups', `${formatCount(questions)} questions: ${ends}; ${formatBytes(objectBytes)} from them`],
    ['for them', `${objectsText(fetched)} fetched`],
  ];
}

function groupTable({ others }: GroupsReport): string[] {
  const rows = others.map((other) => [
    other.group,
    other.isOwner ? 'asked' : 'not asked: its leader was not heard lately',
    other.leader ?? '–',
    String(other.epoch ?? '–'),
    formatCount(other.members),
    formatCount(other.up),
  ]);
  const headings = ['group', 'state', 'leader', 'epoch', 'nodes', 'up'];
  return formatTable([headings, ...rows], { right: [3, 4, 5] }).split('\n');
}

function leaderOf({ leader }: GroupsReport): string {
  return leader === null ? 'no leader yet' : `led by ${leader}`;
}

function refusalsOf(refused: Readonly<Record<string, number>>): string {
  const refusals = Object.entries(refused).map(([reason, count]) => `${formatCount(count)} ${reason}`);
  return refusals.length === 0 ? '' : `, refused: ${refusals.join(', ')}`;
}

type GroupsReport = NonNullable<CooperationReport['groups']>;
type MulticastReport = NonNullable<CooperationReport['multicast']>;
type NatsReport = NonNullable<CooperationReport['nats']>;

function stateOf({ state, masked }: PeerReport): string {
  if (state === 'self') return 'this node itself';
  return masked === null ? 'asked' : `not asked: ${masked}`;
}

/**
 * The secret that signs requests to a neighbour, then the others that both accept. A number in
 * brackets is that of the objects in the neighbour's summary under it, if it is not that of the
 * column.
 */
function keysOf({ keys, objects: all }: PeerReport): string {
  const shared = keys.filter(({ isShared }) => isShared);
  const inOrder = [...shared.filter(({ isUsed }) => isUsed), ...shared.filter(({ isUsed }) => !isUsed)];
  const texts = inOrder.map(({ id, objects }) =>
    objects === all ? id : `${id} (${objects === null ? 'no summary' : formatCount(objects)})`,
  );
  return texts.length === 0 ? '–' : texts.join(', ');
}

const HEADINGS = [
  'neighbour',
  'state',
  'from',
  'secret',
  'objects',
  'silent for',
  'summary',
  'true hits',
  'false hits',
  'true misses',
  'false misses',
  'late',
  'failed',
  'latency',
  'objects from it',
];
