import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type Agent, createServer, get } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { SpaceSockets } from './space-sockets.ts';
import { type Space, VirtualNetwork, whyNoNetwork } from './virtual-network.ts';

const why = whyNoNetwork();
const title = (text: string) => (why === null ? text : `${text} (skipped: ${why})`);
/** A request that is lost has this time. One that passes takes some milliseconds. */
const LOST_MS = 1500;
const BODY = Buffer.alloc(80_000, 'x');

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const names = () => execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' });

/** Two spaces, a server in the second one, and an agent of the first that leads to it. */
async function pair(): Promise<{ network: VirtualNetwork; one: Space; other: Space; agent: Agent }> {
  const network = await VirtualNetwork.start();
  open.push(() => network[Symbol.asyncDispose]());
  const one = await network.plugIn('one');
  const other = await network.plugIn('other');
  const [from, to] = [new SpaceSockets(one), new SpaceSockets(other)];
  const place = { host: other.addresses[0]!, port: 80 };
  const server = createServer((request, response) => {
    response.setHeader('from', request.socket.remoteAddress!);
    response.end(BODY);
  });
  server.listen(await to.listen(place));
  const agent = from.agentFor(place);
  open.push(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { network, one, other, agent };
}

/** The address that the server saw, or null if there was no answer. */
function ask(agent: Agent): Promise<string | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(LOST_MS);
    const asked = get({ host: 'any', agent, signal }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(`${answer.headers.from}`));
    });
    asked.on('error', () => resolve(null));
  });
}

test.skipIf(why !== null)(title('sockets of a space have its address, and its faults'), async () => {
  const { network, one, other, agent } = await pair();
  expect(await ask(agent)).toBe(one.addresses[0]);
  await network.divide([one], [other]);
  expect(await ask(agent)).toBeNull();
  await network.unite();
  expect(await ask(agent)).toBe(one.addresses[0]);
  await network.lose(other, { percent: 100 });
  expect(await ask(agent)).toBeNull();
  await network.lose(other, { percent: 0 });
  expect(await ask(agent)).toBe(one.addresses[0]);
  await network.plug(other, false);
  expect(await ask(agent)).toBeNull();
  await network.plug(other, true);
  expect(await ask(agent)).toBe(one.addresses[0]);
});

test.skipIf(why !== null)(title('throttle lets no more bytes pass than it says'), async () => {
  const { network, other, agent } = await pair();
  await network.throttle(other, 1_000_000);
  const began = performance.now();
  await ask(agent);
  // 32 KiB pass at once.
  const leastMs = ((BODY.length - 32_768) * 8) / 1000;
  expect(performance.now() - began).toBeGreaterThan(leastMs);
  await network.throttle(other, null);
  await network.throttle(other, null);
});

test.skipIf(why !== null)(title('a network ends the processes that are left in it'), async () => {
  const network = await VirtualNetwork.start();
  open.push(() => network[Symbol.asyncDispose]());
  const { prefix, name } = await network.plugIn('left');
  const [program, ...words] = [...prefix, 'sleep', '1000'];
  const left = spawn(program!, words);
  const ended = once(left, 'exit');
  await once(left, 'spawn');
  expect(names()).toContain(name);
  await network[Symbol.asyncDispose]();
  expect(await ended).toEqual([null, 'SIGKILL']);
  expect(names()).not.toContain(name);
});

test.skipIf(why !== null)(title('start removes the spaces of a run that was killed'), async () => {
  const { pid } = spawnSync('true');
  const space = `blm-${pid}-0-left`;
  execFileSync('ip', ['netns', 'add', space]);
  await using network = await VirtualNetwork.start();
  const { name } = await network.plugIn('own');
  expect(names()).not.toContain(space);
  // A second network of this process takes nothing away from the first.
  await using _ = await VirtualNetwork.start();
  expect(names()).toContain(name);
});
