import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ipv4, udp } from '../../../test/captures/build-packet.ts';
import { Collector } from '../collector/collector.ts';
import { TracebackError } from '../traceback-error.ts';
import { DigestService } from './digest-service.ts';
import { parseAddress, parseSeenQuestion, parseSourceQuestion } from './question.ts';
import { QuestionGate } from './question-gate.ts';

const TOKEN = 'a-token-of-some-length';
const packet = ipv4({ protocol: 17 }, udp(1, 2, new Uint8Array(80)));
const question = { packet: Buffer.from(packet).toString('base64'), from: 0, to: 100 };
let folder: string;
let collector: Collector;
let service: DigestService;
let now = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-service-'));
  collector = Collector.open({ folder, key: new Uint8Array(16), tableBytes: 1 << 12 });
  service = await DigestService.start({
    collector,
    token: TOKEN,
    host: '127.0.0.1',
    port: 0,
    nowMs: () => now,
    perSecond: 10,
    burst: 20,
    mostBytes: 4096,
  });
});

afterAll(async () => {
  await service.close();
  collector.close();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(path: string, body: unknown, { token = TOKEN, method = 'POST' } = {}) {
  now += 1000;
  const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const codeOf = ({ body }: { body: Record<string, unknown> }) => (body.error as { code: string }).code;

test('questions get an answer, with the tables that say yes by chance', async () => {
  expect((await ask('/v1/seen', question)).body).toEqual({
    seen: false,
    sightings: [],
    yes: 0,
    tables: 0,
    expectedByChance: 0,
    chanceOfAny: 0,
    coveredFromS: null,
    payloadBytes: 44,
    changes: [],
  });
  expect((await ask('/v1/source', { source: '2001:db8::1', from: 5 })).body).toMatchObject({ seen: false });
  expect((await ask('/v1/status', null, { method: 'GET' })).body).toMatchObject({ tables: 0, digested: 0 });
});

test.each<[string, string, unknown, object, number, string]>([
  ['another token', '/v1/seen', question, { token: 'guessed' }, 401, 'token'],
  ['another path', '/v1/keys', question, {}, 404, 'path'],
  ['another method', '/v1/seen', null, { method: 'GET' }, 405, 'method'],
  ['no JSON', '/v1/seen', '{', {}, 400, 'question'],
  ['an array', '/v1/seen', [], {}, 400, 'question'],
  ['an unknown name', '/v1/seen', { ...question, key: 1 }, {}, 400, 'question'],
  ['no packet', '/v1/seen', { from: 1, to: 2 }, {}, 400, 'question'],
  ['no base64', '/v1/seen', { ...question, packet: 'é' }, {}, 400, 'question'],
  ['no IP', '/v1/seen', { ...question, packet: 'AAAA' }, {}, 400, 'not-ip'],
  ['a cut packet', '/v1/seen', { ...question, packet: question.packet.slice(0, 60) }, {}, 400, 'packet-cut'],
  ['no time', '/v1/seen', { packet: question.packet }, {}, 400, 'question'],
  ['an empty window', '/v1/seen', { ...question, from: 101 }, {}, 400, 'window'],
  ['no address', '/v1/source', { source: '10.0.0.256', from: 0 }, {}, 400, 'question'],
  ['a long body', '/v1/seen', 'x'.repeat(5000), {}, 413, 'body'],
])('a question with %s is refused', async (_, path, body, options, status, code) => {
  const answer = await ask(path, body, options);
  expect([answer.status, codeOf(answer)]).toEqual([status, code]);
});

test('a body without a length is cut at the limit, and not read to its end', async () => {
  now += 1000;
  const status = await new Promise<number | undefined>((resolve) => {
    const options = {
      port: service.port,
      path: '/v1/seen',
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'transfer-encoding': 'chunked' },
    };
    const sending = request(options, (response) => resolve(response.statusCode));
    sending.on('error', () => resolve(undefined));
    // It never ends: only the limit can end it.
    for (let i = 0; i < 40; i++) sending.write('y'.repeat(1024));
  });
  // The answer may be lost together with the connection, which is as good.
  expect([413, undefined]).toContain(status);
});

test('a flood of questions is refused with a time to come back, and ends', async () => {
  now += 1e6;
  const frozen = () =>
    fetch(`http://127.0.0.1:${service.port}/v1/source`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ source: '10.0.0.1', from: 0 }),
    });
  const answers = [];
  for (let i = 0; i < 60; i++) answers.push(await frozen());
  expect(answers.filter(({ status }) => status === 200).length).toBe(20);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBe(40);
  expect(refused[0].headers.get('retry-after')).toBe('1');
  expect((await ask('/v1/source', { source: '10.0.0.1', from: 0 })).status).toBe(200);
});

test.each([
  ['headers', 'POST /v1/seen HTTP/1.1\r\nHost: x\r\n'],
  [
    'a body',
    `POST /v1/seen HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 99\r\n\r\n{`,
  ],
])(
  'a client that is slow with %s is cut off, and holds no place',
  async (_, start) => {
    now += 1e6;
    const slow = await DigestService.start({
      collector,
      token: TOKEN,
      host: '127.0.0.1',
      port: 0,
      nowMs: () => now,
      atOnce: 1,
      requestMs: 300,
    });
    const socket = connect(slow.port, '127.0.0.1', () => socket.write(start));
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
    });
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text).toContain('408');
    const answer = await fetch(`http://127.0.0.1:${slow.port}/v1/status`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(answer.status).toBe(200);
    await slow.close();
  },
  20_000,
);

test('an answer that fails is told to the operator, and not to the client', async () => {
  const warnings: string[] = [];
  const broken = await DigestService.start({
    collector: {
      payloadBytes: 44,
      seen: () => Promise.reject(new Error('EIO: i/o error, read')),
    } as unknown as Collector,
    token: TOKEN,
    host: '127.0.0.1',
    port: 0,
    nowMs: () => now,
    warn: (message) => warnings.push(message),
  });
  const answer = await fetch(`http://127.0.0.1:${broken.port}/v1/seen`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(question),
  });
  expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining('EIO')]);
  expect(warnings).toEqual(['a question failed: EIO: i/o error, read']);
  await broken.close();
});

test('bytes that are no HTTP end the connection and nothing else', async () => {
  const random = new Random(6);
  for (let i = 0; i < 20; i++) {
    await new Promise<void>((resolve) => {
      const socket = connect(service.port, '127.0.0.1', () => socket.end(random.bytes(500)));
      socket.on('close', () => resolve()).on('error', () => {});
      socket.resume();
    });
  }
  expect((await ask('/v1/status', null, { method: 'GET' })).status).toBe(200);
});

test('parsing random and damaged questions gives a question or a TracebackError', () => {
  const random = new Random(3);
  const text = JSON.stringify(question);
  for (let i = 0; i < 5000; i++) {
    const bytes = Buffer.from(text);
    for (let j = random.below(4); j >= 0; j--) bytes[random.below(bytes.length)] = random.below(256);
    const damaged = bytes.toString('latin1').slice(0, 1 + random.below(bytes.length));
    for (const parse of [parseSeenQuestion, parseSourceQuestion]) {
      try {
        parse(damaged);
      } catch (error) {
        expect(error).toBeInstanceOf(TracebackError);
      }
    }
  }
});

test.each([
  ['10.0.0.1', [10, 0, 0, 1]],
  ['::', new Array(16).fill(0)],
  ['2001:db8::1', [0x20, 1, 0x0d, 0xb8, ...new Array(11).fill(0), 1]],
  ['::ffff:10.0.0.1', [...new Array(10).fill(0), 255, 255, 10, 0, 0, 1]],
  ['1:2:3:4:5:6:7:8', [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
])('parseAddress reads %s', (text, bytes) => {
  expect([...parseAddress(text)]).toEqual(bytes);
});

test.each([
  '',
  '1.2.3',
  '01.2.3.4',
  '1:2',
  ':::',
  '1::2::3',
  '12345::',
  '1:2:3:4:5:6:7:8:9',
  'x'.repeat(1e5),
])('parseAddress refuses "%.20s"', (text) => {
  expect(() => parseAddress(text)).toThrow(TracebackError);
});

test('QuestionGate limits rate and number as a model says', () => {
  const random = new Random(12);
  const gate = new QuestionGate({ perSecond: 20, burst: 5, atOnce: 3 }, 0);
  let tokens = 5;
  let running = 0;
  let time = 0;
  for (let i = 0; i < 5000; i++) {
    const step = random.below(100);
    time += step;
    tokens = Math.min(5, tokens + step * 0.02);
    if (running > 0 && random.below(2) === 0) {
      gate.leave();
      running--;
    }
    const expected = tokens < 1 ? 'rate' : running >= 3 ? 'busy' : 'pass';
    expect(gate.enter(time)).toBe(expected);
    if (expected === 'pass') {
      tokens--;
      running++;
    }
  }
});
