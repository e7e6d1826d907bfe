/**
 * The scenes of the demonstration, in their order. Each one asks nodes as a client does, and tells
 * what the counts of the nodes and of the origin say about it.
 */

import { formatBytes, formatCount } from '../terminal/format-values.ts';
import type { DemoAnswer, DemoNode, DemoStatus } from './demo-node.ts';
import { type DemoOrigin, demoBody, demoTarget, ORIGIN_DELAY_MS } from './demo-origin.ts';
import type { DemoReport } from './demo-report.ts';

interface DemoStage {
  readonly nodes: readonly DemoNode[];
  readonly origin: DemoOrigin;
  readonly report: DemoReport;
  readonly signal: AbortSignal;
  /** Time at which the demonstration began, by `performance.now()`. */
  readonly began: number;
}

type Scene = (stage: DemoStage) => Promise<void>;

const OBJECTS = 60;
const OBJECT_BYTES = 20_000;
const LARGE_BYTES = 20_000_000;
const ABSENT = 100;
const CLIENTS = 10;
/** How long a scene waits for an event. */
const PATIENCE_MS = 20_000;

const targets = Array.from({ length: OBJECTS }, (_, i) => demoTarget(`photo-${i}`, OBJECT_BYTES));

/** The nodes find each other. */
const meet: Scene = async ({ nodes, report, began }) => {
  report.scene('The nodes find each other.');
  const isCurrent = ({ cooperation }: DemoStatus) =>
    (cooperation?.peers ?? []).filter(({ state, masked }) => state === 'up' && masked === null).length ===
    nodes.length - 1;
  for (const node of nodes)
    report.claim(await becomes(node, isCurrent), `${node.name} has the summaries of its neighbours`);
  report.say(
    `Each has the summaries of the other two, ${seconds(performance.now() - began)} after the start.`,
  );
  report.pause();
};

/** One node fills its cache from the origin. */
const fill: Scene = async ({ nodes, origin, report }) => {
  const [anvil, bellows] = nodes as [DemoNode, DemoNode];
  report.scene(`A client asks ${anvil.name} for ${OBJECTS} objects that no node has.`);
  const before = origin.requests;
  const answers: DemoAnswer[] = [];
  // Ten clients, so that readers need not wait for sixty origins in a row.
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      const share = targets.filter((_target, i) => i % CLIENTS === client);
      answers.push(...(await askAll(report, anvil, share)));
    }),
  );
  report.count(OBJECTS, 0);
  report.say(
    `The summaries of the neighbours say "no", so it asks the origin ${times(origin.requests - before)}. The first byte comes after ${median(answers)} (median), of which the origin takes ${ORIGIN_DELAY_MS} ms.`,
  );
  const knows = ({ cooperation }: DemoStatus) => peerOf(cooperation, anvil.name)?.objects === OBJECTS;
  report.claim(await becomes(bellows, knows), `${bellows.name} knows what ${anvil.name} holds`);
  const { cooperation } = await anvil.status();
  const heard = peerOf((await bellows.status()).cooperation, anvil.name)?.summaryBytes ?? 0;
  const list = targets.reduce((sum, target) => sum + origin.url.length + target.length + 1, 0);
  report.say(
    `It tells its neighbours what it has in ${cooperation?.own.updates ?? 0} messages, ${formatBytes(heard)} for each neighbour; a list of the URLs would have ${formatBytes(list)}.`,
  );
  report.pause();
};

/** Another node answers from the first. */
const cooperate: Scene = async ({ nodes, origin, report, began }) => {
  const [anvil, bellows] = nodes as [DemoNode, DemoNode];
  report.scene(`A client asks ${bellows.name}, which has none of them, for the same ${OBJECTS} objects.`);
  const before = origin.requests;
  const first = await askAll(report, bellows, targets.slice(0, 1));
  const since = performance.now() - began;
  const answers = [...first, ...(await askAll(report, bellows, targets.slice(1)))];
  const { trueHits = 0, failures = 0 } = peerOf((await bellows.status()).cooperation, anvil.name) ?? {};
  report.count(OBJECTS, trueHits);
  report.say(
    `It looks at the summary that it has of ${anvil.name}, which says "maybe", and fetches from ${anvil.name}: ${trueHits} of ${OBJECTS}.`,
  );
  if (failures > 0)
    report.say(`${anvil.name} did not answer in time ${times(failures)}, because this machine is busy.`);
  report.say(
    `The origin is asked ${times(origin.requests - before)}. The first byte comes after ${median(answers)} (median).`,
  );
  report.say(`The first of them came ${seconds(since)} after the start, with`);
  report.say(`  Cache-Status: ${first[0]!.cacheStatus}`);
  report.claim(trueHits > OBJECTS / 2, `most objects come from ${anvil.name}`);
  report.claim(origin.requests - before <= failures, 'the origin is asked only if a neighbour is late');
  report.pause();
};

/** Objects that no node has cost no question to a neighbour. */
const absent: Scene = async ({ nodes, origin, report }) => {
  const chisel = nodes[2]!;
  report.scene(`A client asks ${chisel.name} for ${ABSENT} objects that no node has.`);
  const before = await falseHits(chisel);
  const fetched = origin.requests;
  await askAll(
    report,
    chisel,
    Array.from({ length: ABSENT }, (_, i) => demoTarget(`rare-${i}`, 2000)),
  );
  report.count(ABSENT, 0);
  const wrong = (await falseHits(chisel)) - before;
  report.say(
    `Both summaries say "no" to ${ABSENT - wrong} of them; ${times(wrong)} a wrong "maybe" cost a question. ${origin.requests - fetched} came from the origin.`,
  );
  report.claim(origin.requests - fetched === ABSENT, `${ABSENT} objects come from the origin`);
  report.pause();
};

/** A summary that is out of date costs one round trip. */
const outdated: Scene = async ({ nodes, origin, report }) => {
  const [anvil, , chisel] = nodes as [DemoNode, DemoNode, DemoNode];
  const target = demoTarget('forgotten', OBJECT_BYTES);
  await anvil.ask(target);
  report.count(2, 0);
  const knows = ({ cooperation }: DemoStatus) => (peerOf(cooperation, anvil.name)?.objects ?? 0) > OBJECTS;
  report.claim(await becomes(chisel, knows), `${chisel.name} knows of the new object`);
  report.scene(
    `${anvil.name} forgets an object, and ${chisel.name} is asked for it before it hears of that.`,
  );
  await anvil.purge(target);
  const before = origin.requests;
  const [answer] = await askAll(report, chisel, [target]);
  report.say(
    `The summary still says "maybe". The answer "not here" sends ${chisel.name} to the origin: the first byte comes after ${answer!.firstByteMs.toFixed(0)} ms. The origin takes ${ORIGIN_DELAY_MS} ms of them.`,
  );
  report.claim(origin.requests === before + 1, 'the origin is asked once');
  report.pause();
};

/** Many nodes want one large object at once. */
const herd: Scene = async ({ nodes, origin, report }) => {
  const target = demoTarget('film', LARGE_BYTES);
  report.scene(
    `All three are asked for the same new object of ${formatBytes(LARGE_BYTES)} at the same moment.`,
  );
  const before = origin.requests;
  const began = performance.now();
  const answers = await Promise.all(nodes.map((node) => askAll(report, node, [target])));
  const took = performance.now() - began;
  const fetches = origin.requests - before;
  const first = Math.min(...answers.map(([answer]) => answer!.totalMs));
  report.count(nodes.length, nodes.length - fetches);
  report.say(
    `The owner of its key lets one node fetch and sends the others to it. The origin is asked ${times(fetches)}.`,
  );
  if (fetches > 1) report.say('The owner did not answer in time, because this machine is busy.');
  report.say(`The first client had it after ${seconds(first)}, the last after ${seconds(took)}.`);
  report.claim(fetches < nodes.length, 'nodes share a fetch');
  report.pause();
};

/** A node dies. */
const death: Scene = async ({ nodes, origin, report }) => {
  const [anvil, bellows, chisel] = nodes as [DemoNode, DemoNode, DemoNode];
  report.scene(`${anvil.name} is killed, and ${chisel.name} is asked for objects that ${anvil.name} held.`);
  await anvil.kill();
  const before = origin.requests;
  const wanted = targets.slice(0, 20);
  const answers = await askAll(report, chisel, wanted);
  const fetches = origin.requests - before;
  const others = wanted.length - fetches;
  report.count(wanted.length, others);
  report.say(
    `Its connections have closed, so its summary is no longer used. ${fetches} of ${wanted.length} came from the origin, the first byte after ${median(answers)} (median). Clients saw no error.`,
  );
  if (others > 0)
    report.say(
      `The other ${others} came from ${bellows.name}, which had fetched them from the origin itself.`,
    );
  report.pause();
};

export const SCENES: readonly Scene[] = [meet, fill, cooperate, absent, outdated, herd, death];

/** Asks for the targets one after the other, and checks every byte. */
async function askAll(report: DemoReport, node: DemoNode, wanted: readonly string[]): Promise<DemoAnswer[]> {
  const answers: DemoAnswer[] = [];
  for (const target of wanted) {
    const answer = await node.ask(target);
    const isRight = answer.status === 200 && demoBody(target)!.equals(answer.body);
    report.claim(isRight, `${node.name} sends ${target} whole and right (status ${answer.status})`);
    answers.push(answer);
  }
  return answers;
}

/** Asks for the status until it is as wanted, or for too long. */
async function becomes(node: DemoNode, isWanted: (status: DemoStatus) => boolean): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    if (isWanted(await node.status())) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

function peerOf(cooperation: DemoStatus['cooperation'], name: string) {
  return cooperation?.peers.find(({ id }) => id === name);
}

async function falseHits(node: DemoNode): Promise<number> {
  const { cooperation } = await node.status();
  return (cooperation?.peers ?? []).reduce((sum, peer) => sum + peer.falseHits, 0);
}

function median(answers: readonly DemoAnswer[]): string {
  const times = answers.map(({ firstByteMs }) => firstByteMs).sort((a, b) => a - b);
  return `${times[times.length >> 1]!.toFixed(1)} ms`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${formatCount(count)} times`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
