/**
 * The program of multicast-loss.test.ts. It runs in a network namespace, with an origin, three
 * nodes and the client of a test in it, and lets 10 % of the datagrams to the group vanish by a
 * rule of nft. It writes one line of JSON with its figures. A namespace is used so that the rule
 * can reach nothing else.
 *
 * Loopback has no route for IPv6 groups, so for these there is a pair of virtual cards, and the
 * nodes are told to use the first of them. All nodes share one card, so a datagram that is lost is
 * lost to all of them at once. Losses of each node by itself are tested for the transport
 * (packages/transport/test/multicast).
 */

import { execFileSync } from 'node:child_process';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';

const GROUP_PORT = 3130;
const CARD = 'six';
/** Repairs after which enough was lost. Beats are lost as well, and need none. */
const REPAIRS = 3;
/** Each object is a message of its own. Fewer than 3 of 200 are lost once in 5 million runs. */
const MOST_OBJECTS = 200;
const ASKED = 20;

export interface LossFigures {
  /** Datagrams that the rule let vanish. */
  readonly dropped: number;
  /** Messages that went to the group again, and those that a node fetched by HTTP. */
  readonly repaired: number;
  readonly givenUp: number;
  readonly objects: number;
  /** Objects that a client asked another node for. */
  readonly asked: number;
  /** Answers among them with wrong bytes, or broken. */
  readonly wrong: number;
  /** Answers among them that did not need the origin. */
  readonly fromNeighbours: number;
}

const nft = (...words: string[]) => execFileSync('nft', words, { encoding: 'utf8' });

function lose(): void {
  nft('add', 'table', 'inet', 'loss');
  nft('add', 'chain', 'inet', 'loss', 'in', '{ type filter hook input priority 0; }');
  nft(
    'add',
    'rule',
    'inet',
    'loss',
    'in',
    ...`udp dport ${GROUP_PORT} numgen random mod 100 < 10 counter drop`.split(' '),
  );
}

function dropped(): number {
  return Number(/counter packets (\d+)/.exec(nft('list', 'table', 'inet', 'loss'))?.[1]);
}

async function sum(nodes: readonly FleetNode[], name: 'repeated' | 'fetched' | 'givenUp'): Promise<number> {
  const all = await Promise.all(nodes.map((node) => node.status()));
  return all.reduce((total, { cooperation }) => total + (cooperation?.multicast?.[name] ?? 0), 0);
}

const ip = (words: string) => execFileSync('ip', words.split(' '));

/** A card with an address of IPv6, which has a route for groups. */
function addCard(): void {
  ip(`link add ${CARD} type veth peer name ${CARD}-end`);
  ip(`-6 address add fd77::1/64 dev ${CARD} nodad`);
  for (const card of [CARD, `${CARD}-end`]) ip(`link set ${card} up`);
}

async function main(program: string, group: string): Promise<LossFigures> {
  ip('link set lo up');
  const isSix = group.includes(':');
  if (isSix) addCard();
  const origin = await ThrottledOrigin.start();
  const fleet = await Fleet.start({
    nodes: 3,
    program: (file) => [program, JSON.stringify({ file })],
    settings: () => ({
      upstream: [`/=${origin.url}/`],
      peer: [],
      peerMulticast: `${isSix ? `[${group}]` : group}:${GROUP_PORT}`,
      ...(isSix ? { peerMulticastInterface: CARD } : {}),
    }),
  });
  try {
    const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
    await fleet.untilCurrent(60_000);
    const earlier = (await sum(fleet.nodes, 'repeated')) + (await sum(fleet.nodes, 'fetched'));
    lose();
    let objects = 0;
    let repaired = 0;
    while (repaired < REPAIRS && objects < MOST_OBJECTS) {
      await checkedGet(first.port, knownPath(`lost/${objects++}`, 1000));
      for (const node of [second, third]) await node.untilHeard(first, objects);
      repaired = (await sum(fleet.nodes, 'repeated')) + (await sum(fleet.nodes, 'fetched')) - earlier;
    }
    let [wrong, fromNeighbours] = [0, 0];
    for (let i = 0; i < ASKED; i++) {
      const path = knownPath(`lost/${i % objects}`, 1000);
      const answer = await checkedGet((i % 2 === 0 ? second : third).port, path);
      if (answer.status !== 200 || answer.wrong !== null || !answer.isWhole) wrong++;
      if (origin.fetches(path) === 1) fromNeighbours++;
    }
    const givenUp = await sum(fleet.nodes, 'givenUp');
    return { dropped: dropped(), repaired, givenUp, objects, wrong, fromNeighbours, asked: ASKED };
  } finally {
    await fleet[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  }
}

process.stdout.write(`${JSON.stringify(await main(process.argv[2]!, process.argv[3]!))}\n`);
