/**
 * The rows of the tables about simulated fleets: which fleet, which policy, which trace. A row runs
 * once for each seed. The seed decides the trace and all randomness of the fleet.
 *
 * Warm-up. Three quarters of the requests of a row are not counted: 3 of 4 million at 64 nodes,
 * which hold 0.64 million objects together. With consistent hashing the share of requests that
 * reach the origin falls from 57 % at the beginning to 12.4 % after 3 million requests, is 12.1 %
 * on average in the counted million, and 11.9 % after 6 million. So the counted part is nearly
 * settled, for all policies alike, and twice the requests would change it by less than 2 %.
 */

import {
  BETWEEN_CHOICES,
  type BetweenChoice,
  type FleetOptions,
  type FleetResult,
  type PolicyChoice,
  SUMMARY_FORMS,
  simulateFleet,
  thresholdAlone,
  zipfTrace,
} from '@bloomery/cache/simulation';

export const SECTIONS = ['fleet', 'messages', 'forms', 'thresholds', 'shock', 'growth', 'groups'] as const;
export type Section = (typeof SECTIONS)[number];

export interface FleetRow {
  readonly section: Section;
  readonly name: string;
  readonly policy: PolicyChoice;
  readonly nodes: number;
  /** Objects that each node holds. */
  readonly capacity: number;
  /** Different objects of the trace. */
  readonly objects: number;
  readonly requests: number;
  /** Requests per second of each node. */
  readonly rate: number;
  /** The threshold of updates alone, or null for the default pace. */
  readonly threshold: number | null;
  /** Share of the nodes that is replaced in the middle of the measured part, or 0. */
  readonly replaced: number;
  /** Nodes of a group, if half of the requests follow the taste of the group; otherwise 0. */
  readonly tasteGroup: number;
  readonly seeds: readonly number[];
}

/** The figures of a row with one seed. */
export interface RowFigures {
  readonly section: Section;
  readonly name: string;
  readonly seed: number;
  readonly cpuSeconds: number;
  readonly result: FleetResult;
}

const WARM_UP = 3 / 4;
/** Points of the series of a shock, over the measured part. */
const SERIES_POINTS = 20;
const SEEDS = [1, 2, 3];
/** Requests per object that the caches of the fleet hold. */
const REQUESTS_PER_HELD = 6.25;
/** Share of all objects that the caches of the fleet hold together. */
const HELD_SHARE = 0.64;

const SINGLE: PolicyChoice = { kind: 'summaries', owner: false, copies: 0 };
const SMALL_QUEUE: PolicyChoice = { kind: 'summaries', owner: false, copies: 0.1 };
const ALL_KEPT: PolicyChoice = { kind: 'summaries', owner: false, copies: 1 };
const DEFAULT: PolicyChoice = { kind: 'summaries' };
const HASHING: PolicyChoice = { kind: 'consistent-hashing' };
const HOT: PolicyChoice = { kind: 'consistent-hashing', hotShare: 1 / 8 };
const ICP: PolicyChoice = { kind: 'icp' };

/** All rows. `quick` has a tenth of the objects and of the requests, and one seed. */
export function fleetRows(quick: boolean): FleetRow[] {
  const scale = quick ? 0.1 : 1;
  const row = (
    section: Section,
    name: string,
    policy: PolicyChoice,
    more: Partial<FleetRow> = {},
  ): FleetRow => {
    const { nodes = 64, capacity = 10_000 * scale } = more;
    return {
      section,
      name,
      policy,
      objects: Math.round((nodes * capacity) / HELD_SHARE),
      requests: Math.round(nodes * capacity * REQUESTS_PER_HELD),
      rate: 100,
      threshold: 0.01,
      replaced: 0,
      tasteGroup: 0,
      seeds: quick ? [1] : SEEDS,
      ...more,
      nodes,
      capacity,
    };
  };
  return [
    ...fleetTable(row),
    ...messageRows(row, scale),
    ...formRows(row),
    ...thresholdRows(row),
    ...shockRows(row),
    ...growthRows(row, scale),
    ...groupRows(row, scale),
  ];
}

type NewRow = (section: Section, name: string, policy: PolicyChoice, more?: Partial<FleetRow>) => FleetRow;

function fleetTable(row: NewRow): FleetRow[] {
  const pace = { threshold: null };
  return [
    row('fleet', 'alone', { kind: 'alone' }),
    row('fleet', 'consistent hashing', HASHING),
    row('fleet', 'single copies', SINGLE),
    row('fleet', 'copies 10 %', SMALL_QUEUE),
    row('fleet', 'ICP', ICP),
    row('fleet', 'all kept', ALL_KEPT),
    row('fleet', 'default settings', DEFAULT, pace),
    row('fleet', 'consistent hashing, hot 1/8', HOT),
    row('fleet', 'Summary Cache', { kind: 'summary-cache' }),
    row('fleet', 'lists of URLs', { kind: 'url-lists' }),
    // An hour of a digest is long only if the requests are few.
    row('fleet', "Squid's digests", { kind: 'squid-digests' }, { rate: 1 }),
    // Rows for the curious, with one seed: the first of them takes five minutes.
    row('fleet', 'single copies, owner', { kind: 'summaries', copies: 0 }, { ...pace, seeds: [1] }),
    row('fleet', 'copies 50 %', { kind: 'summaries', owner: false, copies: 0.5 }, { seeds: [1] }),
  ];
}

function messageRows(row: NewRow, scale: number): FleetRow[] {
  return [16, 64].flatMap((nodes) => [
    ...(nodes === 64
      ? []
      : [
          row('messages', `${nodes} nodes: ICP`, ICP, { nodes }),
          row('messages', `${nodes} nodes: single copies`, SINGLE, { nodes }),
          row('messages', `${nodes} nodes: copies 10 %`, SMALL_QUEUE, { nodes }),
          row('messages', `${nodes} nodes: all kept`, ALL_KEPT, { nodes }),
        ]),
    // Large fleets of quiet nodes take long to simulate, so theirs are smaller nodes.
    ...[1, 10, 100, 1000].map((rate) =>
      row('messages', `${nodes} nodes: default settings, ${rate}/s`, DEFAULT, {
        nodes,
        ...(nodes === 64 ? { capacity: 1000 * scale } : {}),
        rate,
        threshold: null,
        seeds: [1],
      }),
    ),
  ]);
}

function formRows(row: NewRow): FleetRow[] {
  return SUMMARY_FORMS.map((form) =>
    row('forms', form, { kind: 'summaries', owner: false, copies: 0, form }, { nodes: 16, seeds: [1] }),
  );
}

function thresholdRows(row: NewRow): FleetRow[] {
  return [0.001, 0.003, 0.01, 0.03, 0.1].flatMap((threshold) =>
    (
      [
        ['single copies', SINGLE],
        ['copies 10 %', SMALL_QUEUE],
        ['all kept', ALL_KEPT],
      ] as const
    ).map(([name, policy]) =>
      row('thresholds', `${name}, ${100 * threshold} %`, policy, { nodes: 16, threshold, seeds: [1] }),
    ),
  );
}

function shockRows(row: NewRow): FleetRow[] {
  return (
    [
      ['consistent hashing', HASHING, 0.01],
      ['consistent hashing, hot 1/8', HOT, 0.01],
      ['single copies', SINGLE, 0.01],
      ['copies 10 %', SMALL_QUEUE, 0.01],
      ['default settings', DEFAULT, null],
      ['all kept', ALL_KEPT, 0.01],
    ] as const
  ).map(([name, policy, threshold]) =>
    row('shock', name, policy, { nodes: 16, threshold, replaced: 0.25, seeds: [1] }),
  );
}

function growthRows(row: NewRow, scale: number): FleetRow[] {
  return [4, 16, 64, 256].flatMap((nodes) =>
    (
      [
        ['ICP', ICP, 0.01],
        ['consistent hashing', HASHING, 0.01],
        ['single copies', SINGLE, 0.01],
        ['default settings', DEFAULT, null],
      ] as const
    ).map(([name, policy, threshold]) =>
      row('growth', `${name}, ${nodes}`, policy, { nodes, capacity: 1000 * scale, threshold, seeds: [1] }),
    ),
  );
}

/**
 * The sizes of fleets in groups, the objects of each node, and the requests per object that the
 * fleet holds. Large fleets have small nodes and fewer requests, so that a row takes minutes.
 */
const GROUPED_FLEETS = [
  { nodes: 64, capacity: 100, perHeld: REQUESTS_PER_HELD, seeds: SEEDS },
  { nodes: 256, capacity: 100, perHeld: REQUESTS_PER_HELD, seeds: [1] },
  { nodes: 1024, capacity: 50, perHeld: 3, seeds: [1] },
] as const;
const GROUP_SIZES = [16, 32, 64] as const;
/** The size of groups for which each fleet has all rows. */
const USUAL_SIZE = 32;
/** The largest mesh that runs. One of 1,024 nodes would take hours. */
const LARGEST_MESH = 256;
const QUIET_RATE = 10;
const TASTE_SHARE = 0.5;

const BETWEEN_NAMES: Record<BetweenChoice, string> = {
  nothing: 'nothing between',
  'leader-union': 'leader union',
  'group-owner': 'group owner',
};

function groupRows(row: NewRow, scale: number): FleetRow[] {
  return GROUPED_FLEETS.flatMap(({ nodes, capacity, perHeld, seeds }) => {
    const requests = Math.round(nodes * capacity * scale * perHeld);
    const fleet = { nodes, capacity: capacity * scale, requests, rate: QUIET_RATE, threshold: null };
    const more = scale === 1 ? { ...fleet, seeds } : fleet;
    const grouped = (words: string, size: number, tasteGroup = 0) =>
      BETWEEN_CHOICES.filter((between) => between !== 'nothing' || size === USUAL_SIZE).map((between) =>
        row(
          'groups',
          `${words}: groups of ${size}, ${BETWEEN_NAMES[between]}`,
          { kind: 'groups', size, between },
          { ...more, tasteGroup },
        ),
      );
    const tasteGroup = USUAL_SIZE;
    return [
      row('groups', `${nodes} nodes: consistent hashing`, HASHING, more),
      ...(nodes > LARGEST_MESH ? [] : [row('groups', `${nodes} nodes: one mesh`, DEFAULT, more)]),
      ...GROUP_SIZES.filter((size) => size < nodes).flatMap((size) => grouped(`${nodes} nodes`, size)),
      ...(nodes === LARGEST_MESH
        ? [
            row('groups', `${nodes} nodes, tastes: consistent hashing`, HASHING, { ...more, tasteGroup }),
            ...grouped(`${nodes} nodes, tastes`, USUAL_SIZE, tasteGroup),
          ]
        : []),
    ];
  });
}

/** Runs a row with one seed. */
export async function runRow(
  row: FleetRow,
  seed: number,
  progress: (share: number) => void,
): Promise<RowFigures> {
  const { section, name, policy, nodes, capacity, objects, requests, rate, threshold, replaced } = row;
  const tastes = row.tasteGroup === 0 ? undefined : { groups: nodes / row.tasteGroup, share: TASTE_SHARE };
  const warmUpRequests = Math.round(WARM_UP * requests);
  const middle = Math.round((warmUpRequests + requests) / 2);
  const options: FleetOptions = {
    policy,
    nodes,
    capacity: { objects: capacity },
    trace: zipfTrace({ exponent: 0.8, objects, requests, nodes, ratePerNode: rate, tastes, seed }),
    seed,
    warmUpRequests,
    progress: (played) => progress(played / requests),
    ...(threshold === null ? {} : { updates: thresholdAlone(threshold) }),
    ...(replaced === 0
      ? {}
      : {
          replacements: [{ beforeRequest: middle, share: replaced }],
          seriesEvery: Math.floor((requests - warmUpRequests) / SERIES_POINTS),
        }),
  };
  const before = process.cpuUsage();
  const result = await simulateFleet(options);
  const { user, system } = process.cpuUsage(before);
  return { section, name, seed, cpuSeconds: (user + system) / 1e6, result };
}
