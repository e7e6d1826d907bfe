/**
 * Formats a snapshot in the text format of Prometheus (version 0.0.4): for each metric a HELP and a
 * TYPE line, then all its samples. Units are base units (seconds, bytes), counters end in `_total`,
 * and every label has a small fixed number of values, so that a scrape stays small.
 */

import type { CooperationReport, PeerReport, SquidsReport } from '../../peers/peer-report.ts';
import { LATENCY_BOUNDS, type MetricsSnapshot, OUTCOMES } from './node-counters.ts';

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface NodeFacts {
  readonly name: string;
  readonly version: string;
}

export function renderMetrics(
  snapshot: MetricsSnapshot,
  facts: NodeFacts,
  cooperation: CooperationReport | null = null,
  squids: SquidsReport | null = null,
): string {
  const page = new Page();
  const { process: own } = snapshot;
  page
    .metric('bloomery_cache_info', 'gauge', 'What runs here.')
    .sample(1, { ...facts, node: process.version });
  const requests = page.metric(
    'bloomery_cache_requests_total',
    'counter',
    'Requests, by where their answer came from.',
  );
  for (const [i, outcome] of OUTCOMES.entries()) requests.sample(snapshot.requests[i], { outcome });
  const statuses = page.metric(
    'bloomery_cache_responses_total',
    'counter',
    'Answers, by the class of their status.',
  );
  for (let i = 1; i <= 5; i++) statuses.sample(snapshot.statuses[i], { status: `${i}xx` });
  page
    .metric('bloomery_cache_sent_bytes_total', 'counter', 'Bytes of bodies sent to clients.')
    .sample(snapshot.bytesOut);
  page
    .metric('bloomery_cache_origin_bytes_total', 'counter', 'Bytes of bodies fetched from origins.')
    .sample(snapshot.bytesFromOrigin);
  histogram(page, snapshot);
  page
    .metric('bloomery_cache_origin_fetches_total', 'counter', 'Requests sent to origins.')
    .sample(snapshot.originFetches);
  page
    .metric('bloomery_cache_origin_failures_total', 'counter', 'Requests that an origin did not answer.')
    .sample(snapshot.originFailures);
  page
    .metric('bloomery_cache_aborted_total', 'counter', 'Answers that ended before their end.')
    .sample(snapshot.aborted);
  const refusals = page.metric('bloomery_cache_refused_total', 'counter', 'Requests refused, by reason.');
  for (const [reason, count] of Object.entries(snapshot.refusals)) refusals.sample(count, { reason });
  const checks = page.metric(
    'bloomery_cache_digest_checks_total',
    'counter',
    'Bodies that were compared with their digest.',
  );
  const { digests } = snapshot;
  checks.sample(digests.rightFromOrigins, { from: 'origin', result: 'right' });
  checks.sample(digests.wrongFromOrigins, { from: 'origin', result: 'wrong' });
  checks.sample(digests.rightFromNeighbours, { from: 'neighbour', result: 'right' });
  checks.sample(digests.wrongFromNeighbours, { from: 'neighbour', result: 'wrong' });
  page
    .metric('bloomery_cache_relayed_total', 'counter', 'Requests handed to the worker that owns their key.')
    .sample(snapshot.relayed);
  page
    .metric('bloomery_cache_connections', 'gauge', 'Open connections of clients.')
    .sample(snapshot.connections);
  page
    .metric('bloomery_cache_connections_total', 'counter', 'Connections of clients so far.')
    .sample(snapshot.connectionsTotal);
  page
    .metric(
      'bloomery_cache_connections_refused_total',
      'counter',
      'Connections closed at once: too many, or not allowed.',
    )
    .sample(snapshot.connectionsRefused);
  stores(page, snapshot);
  const peers = [...(cooperation?.peers ?? []), ...(squids?.squids ?? [])];
  if (cooperation !== null || peers.length > 0) neighbours(page, peers);
  if (cooperation !== null) ownSummary(page, cooperation);
  if (cooperation?.nats != null) natsServer(page, cooperation.nats);
  if (cooperation?.multicast != null) multicastGroup(page, cooperation.multicast);
  if (cooperation?.groups != null) groupsOf(page, cooperation.groups);
  if (squids?.served != null) servedDigests(page, squids.served);
  const { fetches, flights, originConnections, tunnels } = snapshot.activity;
  page
    .metric('bloomery_cache_origin_fetches_running', 'gauge', 'Fetches from origins under way.')
    .sample(fetches);
  page.metric('bloomery_cache_flights', 'gauge', 'Of those, fetches that others can join.').sample(flights);
  page
    .metric('bloomery_cache_origin_connections', 'gauge', 'Open connections to origins.')
    .sample(originConnections);
  page.metric('bloomery_cache_tunnels', 'gauge', 'Open tunnels.').sample(tunnels);
  page
    .metric(
      'bloomery_cache_access_log_dropped_total',
      'counter',
      'Lines that the access log lost: its file or pipe was too slow, or failed.',
    )
    .sample(snapshot.accessLogDropped);
  page.metric('bloomery_cache_processes', 'gauge', 'Processes that serve.').sample(own.processes);
  const delay = page.metric(
    'bloomery_cache_event_loop_delay_seconds',
    'gauge',
    'Delay of the event loop since the last minute began; of the slowest process.',
  );
  delay.sample(own.eventLoopP50Ms / 1000, { quantile: '0.5' });
  delay.sample(own.eventLoopP99Ms / 1000, { quantile: '0.99' });
  delay.sample(own.eventLoopMaxMs / 1000, { quantile: '1' });
  page
    .metric('process_start_time_seconds', 'gauge', 'When it was started, in seconds since 1970.')
    .sample(own.startedAt / 1000);
  page.metric('process_cpu_seconds_total', 'counter', 'Processor time used.').sample(own.cpuMicros / 1e6);
  page.metric('process_resident_memory_bytes', 'gauge', 'Memory in use.').sample(own.residentBytes);
  page.metric('nodejs_heap_used_bytes', 'gauge', 'Heap of JavaScript in use.').sample(own.heapUsedBytes);
  if (own.openDescriptors >= 0)
    page.metric('process_open_fds', 'gauge', 'Open file descriptors.').sample(own.openDescriptors);
  return page.text;
}

function histogram(page: Page, { latency }: MetricsSnapshot): void {
  const name = 'bloomery_cache_request_duration_seconds';
  const metric = page.metric(
    name,
    'histogram',
    'From the request to the end of its answer, tunnels left out.',
  );
  for (const [from, buckets, sumMicros] of [
    ['cache', latency.cache, latency.cacheMicros],
    ['origin', latency.origin, latency.originMicros],
  ] as const) {
    let count = 0;
    for (const [i, inBucket] of buckets.entries()) {
      count += inBucket;
      metric.sample(
        count,
        { from, le: i < LATENCY_BOUNDS.length ? String(LATENCY_BOUNDS[i]) : '+Inf' },
        '_bucket',
      );
    }
    metric.sample(sumMicros / 1e6, { from }, '_sum');
    metric.sample(count, { from }, '_count');
  }
}

function stores(page: Page, snapshot: MetricsSnapshot): void {
  for (const [name, type, help, field] of STORE_METRICS) {
    const metric = page.metric(name, type, help);
    for (const [tier, statistics] of Object.entries(snapshot.stores))
      metric.sample(statistics[field], { tier });
  }
}

const STORE_METRICS = [
  ['bloomery_cache_store_responses', 'gauge', 'Stored responses.', 'responses'],
  ['bloomery_cache_store_bytes', 'gauge', 'Bytes that they take.', 'bytes'],
  ['bloomery_cache_store_capacity_bytes', 'gauge', 'Bytes that they may take.', 'capacityBytes'],
  ['bloomery_cache_store_evictions_total', 'counter', 'Responses that made room for others.', 'evictions'],
  ['bloomery_cache_store_corrupt_total', 'counter', 'Responses found damaged, and dropped.', 'corrupt'],
  ['bloomery_cache_store_not_admitted_total', 'counter', 'Responses not kept when they came.', 'refused'],
  ['bloomery_cache_store_copies', 'gauge', 'Stored responses that came from neighbours.', 'copies'],
  ['bloomery_cache_store_copy_bytes', 'gauge', 'Bytes that these copies take.', 'copyBytes'],
] as const;

/** One sample for each neighbour, Squids included. The settings and the membership bound them. */
function neighbours(page: Page, peers: readonly PeerReport[]): void {
  // Two addresses of one node have its name, and two samples may not have the same labels.
  const labels = new Map(peers.map(({ id, address }) => [id ?? address, address]));
  const labelOf = ({ id, address }: PeerReport) => (id !== null && labels.get(id) === address ? id : address);
  for (const [name, type, help, read] of PEER_METRICS) {
    const metric = page.metric(name, type, help);
    for (const peer of peers) metric.sample(read(peer), { peer: labelOf(peer) });
  }
  const members = page.metric('bloomery_cache_members', 'gauge', 'Neighbours by where they were learnt.');
  for (const source of new Set(peers.map((peer) => peer.source)))
    members.sample(peers.filter((peer) => peer.source === source).length, { source });
  const answers = page.metric(
    'bloomery_cache_peer_answers_total',
    'counter',
    "What a neighbour's summary said, and whether it was right (Squid's four names).",
  );
  for (const peer of peers) {
    for (const [what, count] of [
      ['true_hit', peer.trueHits],
      ['false_hit', peer.falseHits],
      ['true_miss', peer.trueMisses],
      ['false_miss', peer.falseMisses],
    ] as const)
      answers.sample(count, { peer: labelOf(peer), what });
  }
}

function servedDigests(page: Page, served: NonNullable<SquidsReport['served']>): void {
  page
    .metric('bloomery_cache_squid_digests_total', 'counter', 'Digests served to Squids.')
    .sample(served.digests);
  page
    .metric('bloomery_cache_squid_digest_objects', 'gauge', 'Objects in the last of them.')
    .sample(served.objects ?? 0);
}

function ownSummary(page: Page, { own, dns }: CooperationReport): void {
  for (const [name, help, read] of DNS_METRICS) {
    const metric = page.metric(name, 'counter', help);
    for (const each of dns) metric.sample(read(each), { name: each.name });
  }
  for (const [name, type, help, value] of [
    ['bloomery_cache_summary_objects', 'gauge', 'Objects in the published summary.', own.objects],
    ['bloomery_cache_summary_updates_total', 'counter', 'Published updates of the summary.', own.updates],
    [
      'bloomery_cache_summary_bytes_total',
      'counter',
      'Bytes of published updates, counted once for all neighbours.',
      own.bytesPublished,
    ],
    [
      'bloomery_cache_owner_questions_total',
      'counter',
      'Messages to neighbours that are owners of keys.',
      own.ownerQuestions,
    ],
    [
      'bloomery_cache_peer_objects_served_total',
      'counter',
      'Objects served to neighbours.',
      own.objectsServed,
    ],
    [
      'bloomery_cache_peer_bytes_served_total',
      'counter',
      'Bytes of bodies served to neighbours.',
      own.bytesServed,
    ],
    ['bloomery_cache_peer_memory_bytes', 'gauge', 'Memory of all summaries of neighbours.', own.memoryBytes],
  ] as const)
    page.metric(name, type, help).sample(value);
}

type NatsReport = NonNullable<CooperationReport['nats']>;
type MulticastReport = NonNullable<CooperationReport['multicast']>;

function natsServer(page: Page, nats: NatsReport): void {
  page
    .metric('bloomery_cache_nats_connected', 'gauge', 'Whether there is a connection to the NATS server.')
    .sample(Number(nats.isConnected));
  page
    .metric('bloomery_cache_nats_jetstream', 'gauge', 'Whether joining nodes find states at the NATS server.')
    .sample(Number(nats.hasStates));
  sharedMedium(page, 'nats', nats);
}

function multicastGroup(page: Page, multicast: MulticastReport): void {
  page
    .metric('bloomery_cache_multicast_joined', 'gauge', 'Whether the multicast group is joined.')
    .sample(Number(multicast.isJoined));
  sharedMedium(page, 'multicast', multicast);
  for (const [name, help, field] of MULTICAST_METRICS)
    page.metric(name, 'counter', help).sample(multicast[field]);
}

/** The counts that a NATS server and a multicast group have in common. */
function sharedMedium(page: Page, medium: 'nats' | 'multicast', report: NatsReport | MulticastReport): void {
  const { reconnects, traffic, refused } = report;
  const prefix = `bloomery_cache_${medium}`;
  page.metric(`${prefix}_reconnects_total`, 'counter', 'Connections after the first one.').sample(reconnects);
  const messages = page.metric(`${prefix}_messages_total`, 'counter', 'Messages, beats included.');
  messages.sample(traffic.messagesSent, { direction: 'sent' });
  messages.sample(traffic.messagesReceived, { direction: 'received' });
  const bytes = page.metric(`${prefix}_bytes_total`, 'counter', 'Bytes of these messages.');
  bytes.sample(traffic.bytesSent, { direction: 'sent' });
  bytes.sample(traffic.bytesReceived, { direction: 'received' });
  const refusals = page.metric(
    `${prefix}_refused_total`,
    'counter',
    'Messages that were not taken, by reason.',
  );
  for (const [reason, count] of Object.entries(refused)) refusals.sample(count, { reason });
}

const MULTICAST_METRICS = [
  ['bloomery_cache_multicast_published_total', 'Messages that were published to the group.', 'sent'],
  ['bloomery_cache_multicast_repeated_total', 'Messages that went to the group again.', 'repeated'],
  ['bloomery_cache_multicast_missed_total', 'Datagrams that did not come.', 'missed'],
  [
    'bloomery_cache_multicast_repaired_total',
    'Of those, datagrams that came when they were repeated or fetched.',
    'repaired',
  ],
  ['bloomery_cache_multicast_fetched_total', 'Messages fetched over HTTP.', 'fetched'],
  [
    'bloomery_cache_multicast_given_up_total',
    'Gaps that were closed by asking for the summary instead.',
    'givenUp',
  ],
] as const;

function groupsOf(page: Page, groups: NonNullable<CooperationReport['groups']>): void {
  const { group: own, epoch, members, isLeader, others } = groups;
  const all = [{ group: own, epoch, members }, ...others];
  const epochs = page.metric('bloomery_cache_group_epoch', 'gauge', 'Epoch of the leader of each group.');
  for (const each of all) epochs.sample(each.epoch ?? 0, { group: each.group });
  const nodes = page.metric('bloomery_cache_group_members', 'gauge', 'Nodes of each group by its leader.');
  for (const each of all) nodes.sample(each.members, { group: each.group });
  page
    .metric('bloomery_cache_group_leader', 'gauge', '1 if this node leads its group, otherwise 0.')
    .sample(isLeader ? 1 : 0, { group: own });
  page
    .metric('bloomery_cache_group_questions_total', 'counter', 'Questions to nodes of other groups.')
    .sample(groups.questions);
  const ends = page.metric(
    'bloomery_cache_group_answers_total',
    'counter',
    'Ends of questions to nodes of other groups.',
  );
  for (const end of ['hits', 'refused', 'failed'] as const) ends.sample(groups[end], { end });
  page
    .metric('bloomery_cache_group_object_bytes_total', 'counter', 'Bytes of objects from other groups.')
    .sample(groups.objectBytes);
  page
    .metric('bloomery_cache_group_fetches_total', 'counter', 'Objects fetched for nodes of other groups.')
    .sample(groups.fetched);
}

type DnsReport = CooperationReport['dns'][number];

const DNS_METRICS: readonly (readonly [name: string, help: string, read: (dns: DnsReport) => number])[] = [
  [
    'bloomery_cache_dns_lookups_total',
    'Look-ups of a name of the fleet in the DNS.',
    ({ lookups }) => lookups,
  ],
  [
    'bloomery_cache_dns_failures_total',
    'Look-ups that brought nothing, so the last answer was kept.',
    ({ failures }) => failures,
  ],
];

const PEER_METRICS: readonly (readonly [
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  read: (peer: PeerReport) => number,
])[] = [
  [
    'bloomery_cache_peer_up',
    'gauge',
    'Whether a neighbour is asked at present.',
    ({ masked }) => Number(masked === null),
  ],
  ['bloomery_cache_peer_objects', 'gauge', "Objects in a neighbour's summary.", ({ objects }) => objects],
  [
    'bloomery_cache_peer_silence_seconds',
    'gauge',
    'Time since the last message of a neighbour.',
    ({ silentMs }) => (silentMs ?? 0) / 1000,
  ],
  [
    'bloomery_cache_peer_failures_total',
    'counter',
    'Requests that a neighbour did not answer as it should.',
    ({ failures }) => failures,
  ],
  [
    'bloomery_cache_peer_late_total',
    'counter',
    'Of those, requests whose deadline passed without an answer.',
    ({ late }) => late,
  ],
  [
    'bloomery_cache_peer_forged_total',
    'counter',
    'Objects that a neighbour sent with a wrong digest.',
    ({ forged }) => forged,
  ],
  [
    'bloomery_cache_peer_bytes_total',
    'counter',
    'Bytes of bodies that came from a neighbour.',
    ({ objectBytes }) => objectBytes,
  ],
  [
    'bloomery_cache_peer_summary_bytes_total',
    'counter',
    'Bytes of summaries that came from a neighbour.',
    ({ summaryBytes }) => summaryBytes,
  ],
];

class Page {
  text = '';

  metric(name: string, type: 'counter' | 'gauge' | 'histogram', help: string) {
    this.text += `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
    return {
      sample: (value: number, labels: Readonly<Record<string, string>> = {}, suffix = '') => {
        const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
        this.text += `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`;
      },
    };
  }
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
