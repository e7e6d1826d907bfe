import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { fleetKeys } from '@bloomery/transport';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../config/node-config.ts';
import { Log } from '../log/log.ts';
import type { FleetToWorker } from './fleet-messages.ts';
import { PrimaryFleet } from './primary-fleet.ts';

let folder: string;
let fleet: PrimaryFleet;
let news: FleetToWorker[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-primary-'));
  writeFileSync(join(folder, 'secret'), 'a secret of some bytes\n', { mode: 0o600 });
  const config = loadConfig({
    flags: {
      listen: ['127.0.0.1:0'],
      disk: false,
      workers: 2,
      peerListen: '127.0.0.1:0',
      peerSecret: join(folder, 'secret'),
    },
  });
  news = [];
  fleet = await PrimaryFleet.open({
    config,
    peers: config.peers!,
    name: 'a',
    log: new Log({ level: 'error', format: 'json', write: () => {} }),
    folder: null,
    remove: async () => 0,
    socketPath: (worker) => join(folder, `${worker}.sock`),
    tellAll: (message) => void news.push(message),
  });
});

afterEach(async () => {
  await fleet.close(0);
  rmSync(folder, { recursive: true });
});

const SECRET = 'a secret of some bytes';
const KEY_ID = fleetKeys(Buffer.from(SECRET)).id;

function tell(worker: number, lows: readonly number[], keyId = KEY_ID): void {
  const until = Date.now() + 600_000;
  const changes = lows.flatMap((low) => [keyId, low, Math.imul(low, 77) >>> 0, until]);
  fleet.receive(worker, { kind: 'summary', changes }, () => {});
}

const objects = () => fleet.report().own.objects;

test('what a worker told leaves with it, and what its next life tells stays', async () => {
  const { name, secrets } = fleet.begin(0);
  expect([name, secrets]).toEqual(['a', [Buffer.from(SECRET).toString('base64')]]);
  fleet.begin(1);
  const all = Array.from({ length: 1000 }, (_, i) => i + 1);
  tell(0, all.slice(0, 500));
  tell(1, all.slice(500));
  expect(objects()).toBe(1000);
  fleet.end(0);
  // The words of a dead worker do not count.
  tell(0, [5000]);
  fleet.begin(0);
  tell(0, all.slice(0, 3));
  await eventually(() => objects() === 503);
  fleet.receive(0, { kind: 'summary', changes: [KEY_ID, 1, 77, 0] }, () => {});
  expect(objects()).toBe(502);
});

test('a worker may die more often than there are parts', async () => {
  fleet.begin(1);
  tell(1, [1, 2, 3]);
  for (let life = 0; life < 600; life++) {
    fleet.begin(0);
    tell(0, [10_000 + life]);
    if (life % 100 === 0) await eventually(() => objects() === 4);
  }
  await eventually(() => objects() === 4);
  fleet.end(1);
  await eventually(() => objects() === 1);
});

test('workers hear of each new version of the summary', async () => {
  fleet.begin(0);
  tell(0, [1]);
  await eventually(() => news.length > 0);
  const last = news.at(-1)!;
  const { epoch, sequence } = (last.kind === 'fleet-news' ? last.news.summaries : [])[0]!;
  expect(`${epoch}.${sequence}`).toBe(fleet.report().own.generation);
});

test('a miss without neighbours goes to the origin', () => {
  fleet.begin(0);
  const answers: FleetToWorker[] = [];
  const hashes = [{ keyId: KEY_ID, low: 1, high: 2 }];
  fleet.receive(0, { kind: 'plan', id: 9, hashes }, (answer) => answers.push(answer));
  expect(answers).toMatchObject([{ kind: 'planned', id: 9, plan: { asks: [], afterwards: 'origin' } }]);
  // A worker finds false misses by the candidates.
  expect(answers).toMatchObject([{ plan: { candidates: [] } }]);
});

test('a question for an object of a worker that is down is refused like any other', async () => {
  const { port } = fleet.begin(0).listen!;
  const refusals: unknown[] = [];
  for (const [method, path] of [
    ['GET', 'http://example.org/a'],
    ['GET', 'http://EXAMPLE.org/a'],
    ['GET', '/a'],
    ['DELETE', 'http://example.org/a'],
  ]) {
    const asked = request({ host: '127.0.0.1', port, method, path, agent: false }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    refusals.push([answer.statusCode, answer.headers['bloomery-summary'], answer.headers['content-length']]);
  }
  const refusal = [504, fleet.report().own.generation, '0'];
  expect(refusals).toEqual([refusal, refusal, refusal, refusal]);
});

test('a second secret has a summary of its own, and workers hear of it first', () => {
  fleet.begin(0);
  tell(0, [1, 2, 3]);
  const [older, newer] = [SECRET, 'another secret of the fleet'].map((text) => Buffer.from(text)) as [
    Buffer,
    Buffer,
  ];
  const newerId = fleetKeys(newer).id;
  const counts = () => fleet.report().own.keys.map((each) => each.objects);
  tell(0, [9], newerId);
  fleet.changeSecrets([older, newer]);
  expect(news.map(({ kind }) => kind)).toEqual(['fleet-secrets', 'fleet-news']);
  expect(news[1]).toMatchObject({ news: { summaries: [{ keyId: KEY_ID }, { keyId: newerId }] } });
  // A worker that was ahead told a hash under a secret that the primary did not know yet.
  expect(counts()).toEqual([3, 0]);
  tell(0, [4, 5], newerId);
  fleet.changeSecrets([newer, older]);
  expect(counts()).toEqual([2, 3]);
  expect(fleet.begin(1).secrets).toEqual([newer, older].map((bytes) => bytes.toString('base64')));
  fleet.changeSecrets([newer]);
  tell(0, [6]);
  expect([counts(), objects()]).toEqual([[2], 2]);
});
