/** The peer entry behind a real server, with a neighbour that says exactly what a test wants. */

import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@bloomery/testkit/eventually';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { fleetKeys } from '@bloomery/transport';
import { RequestSigner, RequestVerifier } from '@bloomery/transport/http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RequestHead } from '../policy/message-head.ts';
import { DEFAULT_POLICY } from '../policy/policy-options.ts';
import type { StoredResponse } from '../policy/stored-response.ts';
import { toStore } from '../policy/storing.ts';
import { FlightBody } from '../proxy/flight/flight-body.ts';
import { Flights } from '../proxy/flight/flights.ts';
import type { ProxyFlight, ProxyFlights, SharedResponse } from '../proxy/flight/shared-response.ts';
import { MemoryStore } from '../store/memory/memory-store.ts';
import { HotObjects } from './decisions/hot-objects.ts';
import { PieceReader } from './objects/object-pieces.ts';
import { askFields, type ObjectAsk } from './objects/object-request.ts';
import { answerContext, type ObjectAnswer, readAnswer } from './objects/object-response.ts';
import { PeerEntry, type PeerEntryOptions } from './peer-entry.ts';
import { RunningAsks } from './running-asks.ts';

const secret = Buffer.alloc(32, 1);
const { response: responseKey } = fleetKeys(secret);
const key = 'http://example.org/a';

let clock: VirtualClock;
let store: MemoryStore;
let flights: ProxyFlights;
let entry: PeerEntry;
let running: RunningAsks;
let server: Server;
let shareable: (response: StoredResponse) => boolean;
let problems: unknown[];
let fetches: RequestHead[];
let fetchForNode: PeerEntryOptions['fetch'];

beforeEach(async () => {
  clock = new VirtualClock({ now: Date.now() });
  store = new MemoryStore({ capacityBytes: 1 << 26 });
  flights = new Flights(() => clock.now());
  running = new RunningAsks();
  shareable = () => true;
  problems = [];
  fetches = [];
  fetchForNode = undefined;
  entry = new PeerEntry({
    store,
    flights,
    policy: () => ({ ...DEFAULT_POLICY, name: 'holder' }),
    clock,
    verifier: new RequestVerifier(secret, clock),
    mayShare: (response) => shareable(response),
    summary: () => ({ epoch: 3, sequence: 4 }),
    headTimeoutMs: 60_000,
    running,
    hot: new HotObjects(),
    get fetch() {
      return fetchForNode;
    },
    problem: (problem) => problems.push(problem),
  });
  server = createServer((req, res) => entry.handle(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  expect(problems).toEqual([]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function response(body: string | Buffer, headers: string[] = [], request: string[] = []): StoredResponse {
  const fields = ['Cache-Control', 'max-age=60', 'ETag', '"v1"', ...headers];
  const times = { requestTime: clock.now(), responseTime: clock.now() };
  const head = { status: 200, statusText: 'OK', headers: fields };
  const stored = toStore({ method: 'GET', key, headers: request }, head, times, DEFAULT_POLICY)!;
  return { ...stored, bodyLength: Buffer.byteLength(body) };
}

function keep(body: string | Buffer, headers: string[] = [], request: string[] = []): void {
  const writer = store.create(key, undefined);
  void writer.write(Buffer.from(body));
  expect(writer.commit(response(body, headers, request))).toBe(true);
}

/** A fetch of this node whose head has come. */
function land(flight: ProxyFlight, more: Partial<SharedResponse> = {}, length = 10): FlightBody {
  const body = new FlightBody(store.create(key, length), 1 << 26, () => {});
  const coming = { ...response(''), bodyLength: length };
  const shared = { response: coming, source: coming, body, validated: false, personal: false };
  flight.land({ kind: 'shared', shared: { ...shared, fromNeighbour: false, ...more } });
  return body;
}

interface Told {
  readonly answer: ObjectAnswer;
  readonly status: number;
  /** Number of 102 before the head. */
  readonly processing: number;
  readonly raw: readonly string[];
  /** Checked bytes so far. */
  body(): string;
  readonly beats: () => number;
  /** Resolves at the regular end; rejects if the answer is cut or wrong. */
  readonly ended: Promise<void>;
  leave(): void;
}

interface AskMore {
  readonly headers?: string[];
  readonly sign?: (value: string) => string | undefined;
  readonly method?: string;
  readonly target?: string;
  readonly node?: string;
  readonly processing?: () => void;
}

/** Asks as a neighbour does, and resolves with the head. */
function ask(question: Partial<ObjectAsk> = {}, more: AskMore = {}): Promise<Told> {
  const { port } = server.address() as AddressInfo;
  const { method = 'GET', target = key, node = 'asker', sign = (value: string) => value } = more;
  const host = `127.0.0.1:${port}`;
  const signature = sign(new RequestSigner(secret, node, clock).sign({ method, target, host }));
  const asked = askFields(more.headers ?? [], { kind: 'stored', waitMs: 0, rest: null, ...question });
  const signed = signature === undefined ? [] : ['Bloomery-Peer', signature];
  return new Promise((resolve, reject) => {
    const headers = ['Host', host, ...asked, ...signed] as unknown as Record<string, string>;
    const req = httpRequest({ host: '127.0.0.1', port, method, path: target, headers, agent: false });
    let processing = 0;
    req.on('error', reject);
    req.on('information', ({ statusCode }) => {
      if (statusCode === 102) processing++;
      more.processing?.();
    });
    req.on('response', (res) => {
      const head = { status: res.statusCode!, statusText: '', headers: res.rawHeaders };
      const answer = readAnswer(head);
      const context = answerContext(signature ?? '', asked, head.status, head.headers);
      const reader = new PieceReader(responseKey, context);
      let body = '';
      let beats = 0;
      const ended = new Promise<void>((end, fail) => {
        res.on('data', (chunk: Buffer) => {
          const checked = answer.kind === 'object' ? reader.take(chunk) : [];
          if (checked.length === 0) beats++;
          for (const bytes of checked) body += bytes.toString('latin1');
        });
        res.on('error', fail);
        res.on('end', () => {
          if (answer.kind === 'object') reader.end(res.trailers['bloomery-digest']);
          end();
        });
      });
      ended.catch(() => {});
      const told = { answer, status: head.status, processing, raw: res.rawHeaders, ended };
      resolve({ ...told, body: () => body, beats: () => beats, leave: () => req.destroy() });
    });
    req.end();
  });
}

async function expectRefusal(told: Promise<Told>, tryNode: string | null = null): Promise<void> {
  const { answer, status } = await told;
  expect(status).toBe(504);
  expect(answer).toEqual({ kind: 'refused', tryNode, summary: { epoch: 3, sequence: 4 } });
}

describe('a stored response', () => {
  test('is given whole, with Age, Via, Cache-Status, the length and a digest', async () => {
    keep('hello', ['X', 'y']);
    await clock.advance(2000);
    const told = await ask();
    await told.ended;
    expect(told.body()).toBe('hello');
    if (told.answer.kind !== 'object') throw new Error('refused');
    const { headers } = told.answer.head;
    expect(headers).toContain('holder; hit; ttl=58');
    expect(headers[headers.indexOf('Age') + 1]).toBe('2');
    expect(headers[headers.indexOf('Content-Length') + 1]).toBe('5');
    expect([headers.includes('Date'), told.answer.summary]).toEqual([true, { epoch: 3, sequence: 4 }]);
    expect(entry.statistics).toEqual({ served: 1, refused: 0, bytes: 5, fetched: 0 });
  });

  test('is given in pieces if it is large, and empty if it is', async () => {
    const large = Buffer.alloc(300_000, 'abcdefg');
    keep(large);
    const told = await ask();
    await told.ended;
    expect(told.body() === large.toString()).toBe(true);
    keep('');
    await (await ask()).ended;
  });

  test('is chosen by the fields of the question, and refused if none matches', async () => {
    keep('de', ['Vary', 'Accept-Language'], ['Accept-Language', 'de']);
    keep('en', ['Vary', 'Accept-Language'], ['Accept-Language', 'en']);
    for (const language of ['de', 'en']) {
      const told = await ask({}, { headers: ['Accept-Language', language] });
      await told.ended;
      expect(told.body()).toBe(language);
    }
    await expectRefusal(ask({}, { headers: ['Accept-Language', 'fr'] }));
  });

  test('is refused if it is stale, too old for the client, or may not be shared', async () => {
    keep('hello');
    await clock.advance(20_000);
    await expectRefusal(ask({}, { headers: ['Cache-Control', 'max-age=10'] }));
    shareable = () => false;
    await expectRefusal(ask());
    shareable = () => true;
    await clock.advance(20_000);
    expect((await ask()).status).toBe(200);
    await clock.advance(20_000);
    await expectRefusal(ask());
  });

  test('is continued from a byte if the tag is the same, and refused otherwise', async () => {
    keep('hello');
    const told = await ask({ rest: { start: 3, etag: '"v1"' } });
    await told.ended;
    expect([told.status, told.body()]).toEqual([206, 'lo']);
    expect(told.raw[told.raw.indexOf('Content-Range') + 1]).toBe('bytes 3-4/5');
    await expectRefusal(ask({ rest: { start: 3, etag: '"v2"' } }));
    await expectRefusal(ask({ rest: { start: 5, etag: '"v1"' } }));
  });
});

describe('a question of another group', () => {
  /** Lets the node fetch for others, as one in a group does. */
  function joinGroup(): void {
    fetchForNode = (request) => {
      fetches.push(request);
      return flights.begin(request.key, 'joinable');
    };
  }

  test('begins one fetch, with the fields that select alone, and gets its response', async () => {
    joinGroup();
    const headers = ['Accept-Language', 'de', 'Cookie', 'a=b', 'Cache-Control', 'max-age=60'];
    const first = ask({ kind: 'owned', waitMs: 1000 }, { headers });
    await eventually(async () => fetches.length === 1);
    const second = ask({ kind: 'owned', waitMs: 1000 }, { node: 'other', headers });
    await eventually(async () => flights.find(key, '', () => true)?.waiters === 2);
    land(flights.find(key, '', () => true)!);
    for (const told of [await first, await second]) expect(told.status).toBe(200);
    expect(fetches).toEqual([
      { method: 'GET', key, headers: ['accept-language', 'de', 'cache-control', 'max-age=60'] },
    ]);
    expect(entry.statistics.fetched).toBe(1);
  });

  test('is refused by a node in no group, and for the rest of a body', async () => {
    await expectRefusal(ask({ kind: 'owned', waitMs: 1000 }));
    joinGroup();
    await expectRefusal(ask({ kind: 'owned', waitMs: 1000, rest: { start: 3, etag: '"v1"' } }));
    await expectRefusal(ask({ kind: 'coming', waitMs: 1000 }));
    await expectRefusal(ask({ kind: 'stored' }));
    expect(fetches).toEqual([]);
  });

  test('is not passed on: a node that asks another group for the key refuses', async () => {
    joinGroup();
    const forget = running.begin(key, 'third', true);
    await expectRefusal(ask({ kind: 'owned', waitMs: 1000 }));
    flights.begin(key);
    await expectRefusal(ask({ kind: 'owned', waitMs: 1000 }));
    expect(fetches).toEqual([]);
    forget();
    const told = ask({ kind: 'owned', waitMs: 1000 });
    await eventually(async () => flights.find(key, '', () => true)?.waiters === 1);
    land(flights.find(key, '', () => true)!);
    expect((await told).status).toBe(200);
  });
});

describe('a refusal', () => {
  test('has the same bytes for every reason', async () => {
    const texts: string[] = [];
    const refused = async (question: Partial<ObjectAsk>, more: AskMore) => {
      const told = await ask(question, more);
      const fields = told.raw.join('\n').replace(/Date\n.*/, '');
      texts.push(`${told.status} ${fields}`);
    };
    const absent = 'http://example.org/absent';
    await refused({}, { target: absent });
    await refused({ kind: 'coming', waitMs: 9 }, { target: absent });
    keep('hello');
    await refused({}, { sign: () => undefined });
    await refused({}, { sign: (value) => value.replace(/mac=.{4}/, 'mac=AAAA') });
    await refused({}, { sign: (value) => value.replace('node=asker', 'node=other') });
    await refused({}, { method: 'POST' });
    await refused({}, { target: '/a' });
    shareable = () => false;
    await refused({}, {});
    expect([...new Set(texts)]).toHaveLength(1);
    expect(entry.statistics).toMatchObject({ served: 0, refused: 8 });
  });

  test('is all that a replayed question gets', async () => {
    keep('hello');
    let kept: string | undefined;
    const sign = (value: string) => (kept ??= value);
    expect((await ask({}, { sign })).status).toBe(200);
    await expectRefusal(ask({}, { sign }));
  });

  test('is all that a neighbour with 16 questions under way gets; others are served', async () => {
    const busy: Told[] = [];
    const flight = flights.begin(key);
    const body = land(flight);
    for (let i = 0; i < 16; i++) busy.push(await ask({ kind: 'coming' }));
    expect(busy.every(({ status }) => status === 200)).toBe(true);
    await expectRefusal(ask({ kind: 'coming' }));
    expect((await ask({ kind: 'coming' }, { node: 'other' })).status).toBe(200);
    busy[0]!.leave();
    await eventually(async () => (await ask({ kind: 'coming' })).status === 200);
    body.fail(new Error('over'));
  });
});

describe('a response that is coming', () => {
  test('is given as it comes, and ends when it has all come', async () => {
    const flight = flights.begin(key);
    const body = land(flight);
    await expectRefusal(ask());
    const told = await ask({ kind: 'coming' });
    expect(told.raw).toContain('holder; fwd=uri-miss; collapsed');
    await body.write(Buffer.from('hello'));
    await eventually(() => told.body() === 'hello');
    await body.write(Buffer.from('world'));
    await body.end({ ...response(''), bodyLength: 10 });
    await told.ended;
    expect(told.body()).toBe('helloworld');
  });

  test('is cut, and not ended, if it fails', async () => {
    const flight = flights.begin(key);
    const body = land(flight);
    const told = await ask({ kind: 'coming' });
    await body.write(Buffer.from('hello'));
    await eventually(() => told.body() === 'hello');
    body.fail(new Error('the origin broke off'));
    await expect(told.ended).rejects.toThrow();
  });

  test('can be waited for, as long as the asker says', async () => {
    const flight = flights.begin(key);
    await expectRefusal(ask({ kind: 'coming', waitMs: 0 }));
    await expectRefusal(ask({ kind: 'coming', waitMs: 10 }));
    const told = ask({ kind: 'coming', waitMs: 50_000 });
    await eventually(() => flight.waiters === 1);
    const body = land(flight);
    expect((await told).status).toBe(200);
    body.fail(new Error('over'));
  });

  test('is waited for as long as the origin takes, with a 102 each second', async () => {
    const flight = flights.begin(key);
    flight.markRooted();
    let heard = 0;
    const told = ask({ kind: 'coming', waitMs: 1 }, { processing: () => heard++ });
    for (let count = 1; count < 4; count++) {
      await eventually(() => heard === count);
      expect(clock.pending).toBe(1);
      await clock.advance(1000);
    }
    await eventually(() => heard === 4);
    expect(flight.waiters).toBe(1);
    const body = land(flight);
    expect(await told).toMatchObject({ status: 200, processing: 4 });
    body.fail(new Error('over'));
    await eventually(() => clock.pending === 0);
  });

  test('is refused when the fetch that waits for the origin fails', async () => {
    const flight = flights.begin(key);
    let heard = 0;
    const told = ask({ kind: 'coming', waitMs: 50_000 }, { processing: () => heard++ });
    await eventually(() => flight.waiters === 1);
    expect(heard).toBe(0);
    flight.markRooted();
    await eventually(() => heard === 1);
    flight.land({ kind: 'failed', error: new Error('x') });
    await expectRefusal(told);
    expect(clock.pending).toBe(0);
  });

  test('is no reason to refuse stored ones while many questions wait for the origin', async () => {
    let heard = 0;
    const flight = flights.begin('http://example.org/slow');
    flight.markRooted();
    const question = { kind: 'coming', waitMs: 1 } as const;
    const more = { target: flight.key, processing: () => heard++ };
    const told: Promise<Told>[] = [];
    for (let count = 1; count <= 20; count++) {
      told.push(ask(question, more));
      await eventually(() => heard === count);
    }
    keep('hello');
    expect((await ask()).status).toBe(200);
    flight.land({ kind: 'private' });
    for (const each of told) await expectRefusal(each);
    expect((await ask()).status).toBe(200);
  });

  test('is refused if it may not be shared', async () => {
    for (const refusal of ['personal', 'rule', 'private', 'failed', 'overflowed'] as const) {
      const flight = flights.begin(key);
      const told = ask({ kind: 'coming', waitMs: 50_000 });
      await eventually(() => flight.waiters === 1);
      shareable = () => refusal !== 'rule';
      if (refusal === 'private') flight.land({ kind: 'private' });
      else if (refusal === 'failed') flight.land({ kind: 'failed', error: new Error('x') });
      else if (refusal === 'overflowed') {
        const body = new FlightBody(store.create(key, 10), 1, () => {});
        void body.write(Buffer.from('more'));
        land(flight, { body });
      } else land(flight, { personal: refusal === 'personal' });
      await expectRefusal(told);
      flights.end(flight);
    }
  });

  test('feeds two neighbours, and sends a third one to one of them', async () => {
    const flight = flights.begin(key);
    const body = land(flight);
    const first = await ask({ kind: 'coming' }, { node: 'one' });
    await ask({ kind: 'coming' }, { node: 'two' });
    const third = await ask({ kind: 'coming' }, { node: 'three' });
    expect(third.answer).toMatchObject({ kind: 'refused', tryNode: expect.stringMatching(/^(one|two)$/) });
    first.leave();
    await eventually(async () => (await ask({ kind: 'coming' }, { node: 'three' })).status === 200);
    body.fail(new Error('over'));
  });

  test('is refused to a neighbour from which this node itself wants it', async () => {
    const flight = flights.begin(key);
    const over = running.begin(key, 'asker');
    const refused = ask({ kind: 'coming', waitMs: 50_000 });
    await eventually(() => entry.statistics.refused === 1 || flight.waiters > 0);
    expect(flight.waiters).toBe(0);
    await expectRefusal(refused);
    over();
    const told = ask({ kind: 'coming', waitMs: 50_000 });
    await eventually(() => flight.waiters === 1);
    const body = land(flight);
    expect((await told).status).toBe(200);
    body.fail(new Error('over'));
  });

  test('shows that this node is alive by a beat each second', async () => {
    const flight = flights.begin(key);
    const body = land(flight);
    const told = await ask({ kind: 'coming' });
    await eventually(() => told.beats() === 1);
    await eventually(async () => {
      await clock.advance(1000);
      return told.beats() >= 3;
    });
    body.fail(new Error('over'));
    await expect(told.ended).rejects.toThrow();
    await eventually(() => clock.pending === 0);
  });
});
