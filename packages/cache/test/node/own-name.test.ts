/**
 * A node that was given a name uses it in every answer of its own: each road to a refusal or a
 * failure is taken once, and no answer has another name.
 */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer as createRawServer } from 'node:net';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { startNode } from '../../src/node/start-node.ts';
import { ownerOf, type Team } from '../../src/node/workers/team.ts';
import { cleanUp, scratchFolder, startOrigin, startTestNode, type TestNode, until } from './scratch.ts';

const NAME = 'edge-1';
const folder = scratchFolder();

/** Sends the bytes and returns everything that came before the node closed the connection. */
async function talk(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  cleanUp(() => socket.destroy());
  let heard = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    heard += chunk;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return heard;
}

/** The code of an answer's Proxy-Status, if it is one of the node with its name. */
function codeOf(answer: string): string {
  expect(answer).not.toMatch(/bloomery/i);
  const found = /\r\nProxy-Status: (\S+); error=(\w+)(?:; details="([^"]*)")?\r\n/.exec(answer);
  expect(found?.[1], answer).toBe(NAME);
  return found?.[3] ?? found?.[2] ?? '';
}

const get = (target: string, fields = '') =>
  `GET ${target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n${fields}\r\n`;
const tunnel = (authority: string) => `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;

async function startNamed(flags: Record<string, unknown> = {}): Promise<TestNode> {
  return startTestNode({ name: NAME, forward: true, allowPrivate: true, logLevel: 'error', ...flags });
}

/** A server that answers every connection with these bytes, or never. */
async function startRaw(bytes: string | null): Promise<string> {
  const server = createRawServer((socket) => {
    socket.on('error', () => {});
    if (bytes !== null) socket.once('data', () => socket.end(bytes));
    cleanUp(() => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An address where no server listens. */
async function closedAddress(): Promise<string> {
  const server = createRawServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

test('refusals of the guard have the name of the node', async () => {
  const { port } = await startNamed({ limits: ['headTimeoutMs=100ms', 'pipelinedRequests=1'] });
  const silent = await startRaw(null);
  const codes = [
    codeOf(await talk(port, 'no HTTP at all\r\n\r\n')),
    codeOf(await talk(port, 'GET / HTTP/1.1\r\n\r\n')),
    codeOf(await talk(port, get('/', 'Expect: a miracle\r\n'))),
    codeOf(await talk(port, 'CONNECT nowhere HTTP/1.1\r\nHost: nowhere\r\n\r\n')),
    codeOf(await talk(port, 'GET / HTTP/1.1\r\nHost:')),
  ];
  expect(codes).toEqual(['method-invalid', 'host-missing', 'expectation', 'authority-port', 'timeout']);
  const refused = await startNamed({ limits: ['pipelinedRequests=1', 'originHeadTimeoutMs=100ms'] });
  const request = `GET http://${silent}/ HTTP/1.1\r\nHost: a\r\n\r\n`;
  const answers = (await talk(refused.port, request.repeat(2))).split(/(?=HTTP\/1\.1 )/);
  expect(answers.map(codeOf)).toEqual(['http_response_timeout', 'pipelining']);
});

test('connections above a limit are told the name of the node', async () => {
  const node = await startNamed({ limits: ['connections=2', 'connectionsPerClient=1'] });
  const first = connect(node.port, '127.0.0.1');
  cleanUp(() => first.destroy());
  await once(first, 'connect');
  expect(codeOf(await talk(node.port, ''))).toBe('connections-per-client');
  const flags = { name: NAME, disk: false, listen: ['127.0.0.1:0'], limits: ['connections=1'] };
  node.reload(loadConfig({ flags }));
  expect(codeOf(await talk(node.port, ''))).toBe('connections');
});

test('refusals of the proxy have the name of the node', async () => {
  const { port } = await startNamed();
  const codes = [
    codeOf(await talk(port, get('/nothing/here'))),
    codeOf(await talk(port, get('http://a.example/', 'Via: 1.1 edge-1\r\n'))),
    codeOf(await talk(port, get('http://a.example/', 'Cache-Control: only-if-cached\r\n'))),
    codeOf(await talk(port, get('http://169.254.169.254/'))),
    codeOf(await talk(port, tunnel('a.example:25'))),
    codeOf(await talk(port, tunnel('169.254.169.254:443'))),
  ];
  expect(codes).toEqual([
    'no-upstream',
    'loop',
    'only-if-cached',
    'destination_ip_prohibited',
    'port-not-allowed',
    'destination_ip_prohibited',
  ]);
  const closed = await startNamed({ allowClient: ['10.0.0.0/8'] });
  expect(codeOf(await talk(closed.port, get('/')))).toBe('client-not-allowed');
  expect(codeOf(await talk(closed.port, tunnel('a.example:443')))).toBe('client-not-allowed');
  const origin = await startOrigin();
  const reverse = await startNamed({ forward: false, upstream: [`/a=${origin.url}`] });
  expect(codeOf(await talk(reverse.port, tunnel('a.example:443')))).toBe('no-tunnels');
  expect(codeOf(await talk(reverse.port, get('http://localhost/')))).toBe('no-upstream');
  expect(codeOf(await talk(reverse.port, get('http://a.example/')))).toBe('misdirected');
});

test('failures of an origin have the name of the node', async () => {
  const limits = ['originHeadTimeoutMs=100ms', 'requestBodyBytes=10'];
  const closed = await closedAddress();
  const { port } = await startNamed({ limits, connectPorts: [Number(closed.split(':')[1])] });
  const ask = async (bytes: string | null) =>
    codeOf(await talk(port, get(`http://${await startRaw(bytes)}/`)));
  expect(await ask(null)).toBe('http_response_timeout');
  expect(await ask('HTTP/1.1 200 OK\r\nContent-Le')).toBe('http_response_incomplete');
  expect(await ask('no HTTP\r\n\r\n')).toBe('http_protocol_error');
  expect(codeOf(await talk(port, get(`http://${closed}/`)))).toBe('connection_refused');
  expect(codeOf(await talk(port, tunnel(closed)))).toBe('connection_refused');
  const origin = await startOrigin((incoming, response) => incoming.resume().on('end', () => response.end()));
  const chunks = 'Transfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n0\r\n\r\n';
  const upload = `POST ${origin.url} HTTP/1.1\r\nHost: a\r\n${chunks}`;
  expect(codeOf(await talk(port, upload))).toBe('body-too-long');
});

test('the failure of another worker is told with the name of the node', async () => {
  const origin = await startOrigin((incoming) => incoming.on('error', () => {}).resume());
  const flags = { name: NAME, listen: ['127.0.0.1:0'], upstream: [origin.url], disk: false };
  const nodes = await Promise.all(
    [0, 1].map((index) => {
      const team: Team = {
        index,
        size: 2,
        socketPath: (worker) => `${folder}/${worker}.sock`,
        removeKey: async () => 0,
        collect: async () => {
          throw new Error('The primary process does not answer');
        },
        drained: async () => {},
      };
      const log = new Log({ level: 'error', format: 'json', write: () => {} });
      return startNode(loadConfig({ flags }), { team, log });
    }),
  );
  cleanUp(() => Promise.all(nodes.map((node) => node.close(0))));
  let path = '/0';
  for (let i = 0; ownerOf(`${origin.url}${path.slice(1)}`, 2) !== 1; i++) path = `/${i}`;
  const { port } = nodes[0]!.listen[0]!;
  const answer = talk(port, `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf`);
  await until('the upload to reach the origin', () => origin.asked.length === 1);
  await nodes[1]!.close(0);
  expect(codeOf(await answer)).toBe('worker-failed');
  expect(await answer).toContain('; error=proxy_internal_error; details="worker-failed"');
  expect(codeOf(await talk(port, get('/.bloomery/status').replace('a.example', 'localhost')))).toBe(
    'proxy_internal_error',
  );
});

test('a new name is used by the guard and the proxy of a running node', async () => {
  const node = await startNamed({ name: 'old-name' });
  node.reload(loadConfig({ flags: { name: NAME, disk: false, listen: ['127.0.0.1:0'] } }));
  expect(codeOf(await talk(node.port, 'GET / HTTP/1.1\r\n\r\n'))).toBe('host-missing');
  expect(codeOf(await talk(node.port, get('/nothing/here')))).toBe('no-upstream');
});
