/**
 * The ways to cooperate that `bloomery simulate` compares, by the names that users type. Each has
 * two sentences for `--explain`: how it works, and what it costs.
 */

import type { PolicyChoice } from '@bloomery/cache/simulation';
import { UsageError } from '../usage-error.ts';

interface PolicySettings {
  /** Part of each node for copies from neighbours; undefined is the default of a node. */
  readonly copies?: number | undefined;
}

interface NamedPolicy {
  readonly how: string;
  readonly cost: string;
  choice(settings: PolicySettings): PolicyChoice;
}

export const POLICIES = {
  alone: {
    how: 'Each node has its own cache and fetches every miss from the origin.',
    cost: 'Every node fetches a popular object once more.',
    choice: () => ({ kind: 'alone' }),
  },
  icp: {
    how: 'At every miss a node asks all the others whether they hold the object (ICP, RFC 2186).',
    cost: 'Messages grow with the number of nodes, and each miss waits for the answers.',
    choice: () => ({ kind: 'icp' }),
  },
  'url-lists': {
    how: 'Each node tells the others the names of the objects that it stored and dropped.',
    cost: 'No false hits, but long messages, and a directory of all names in every node.',
    choice: () => ({ kind: 'url-lists' }),
  },
  'summary-cache': {
    how: 'Each node tells the others the changed bits of a Bloom filter of what it holds (Fan and others, 2000).',
    cost: 'Every node keeps a copy of what it got from a neighbour, so the fleet holds fewer different objects.',
    choice: () => ({ kind: 'summary-cache' }),
  },
  'squid-digests': {
    how: 'Each node builds a Bloom filter of what it holds once an hour, and the others fetch it whole.',
    cost: 'Objects of the last hour are not found.',
    choice: () => ({ kind: 'squid-digests' }),
  },
  hashing: {
    how: 'A hash of its name gives each object one owner, which all others ask (consistent hashing).',
    cost: 'Nearly every request crosses the network, and all nodes must agree on who is there.',
    choice: () => ({ kind: 'consistent-hashing' }),
  },
  'hashing-hot': {
    how: 'As hashing, with an eighth of each node for popular objects of other owners.',
    cost: 'Fewer different objects than hashing, for more answers from the own cache.',
    choice: () => ({ kind: 'consistent-hashing', hotShare: 1 / 8 }),
  },
  summaries: {
    how: 'As `bloomery cache --peer`: small summaries of what each node holds, and the owner of a name is asked before the origin.',
    cost: 'A node keeps few copies of what its neighbours hold (--copies), so most hits cross the network.',
    choice: ({ copies }) => ({ kind: 'summaries', ...(copies === undefined ? {} : { copies }) }),
  },
  'summaries-single': {
    how: 'As summaries, without copies and without the owner: an object is in one node.',
    cost: 'The fewest fetches that summaries can reach, and few hits in the own cache.',
    choice: () => ({ kind: 'summaries', copies: 0, owner: false }),
  },
} satisfies Record<string, NamedPolicy>;

export type PolicyName = keyof typeof POLICIES;

/** The policies that are compared unless the user says which. */
export const DEFAULT_POLICIES: readonly PolicyName[] = ['alone', 'icp', 'hashing', 'summaries'];

/**
 * The policies of a list such as `icp,summaries`, or of `all`. `alone` is always the first, because
 * the savings of the others are compared with it.
 */
export function parsePolicies(text: string): PolicyName[] {
  const all = Object.keys(POLICIES) as PolicyName[];
  const names = text === 'all' ? all : text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (!all.includes(name as PolicyName))
      throw new UsageError(`--policy ${name} is unknown; there are ${all.join(', ')}, and all`);
  }
  return [...new Set(['alone', ...names])] as PolicyName[];
}
