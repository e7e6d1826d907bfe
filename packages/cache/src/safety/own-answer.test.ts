import { readdirSync, readFileSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ownAnswerBytes, sendOwnAnswer } from './own-answer.ts';
import { refusal } from './refusal.ts';

const failure = { status: 504, code: 'connection_timeout', message: 'a.example: no connection' };

test('ownAnswerBytes writes a complete answer that ends the connection', () => {
  const { bytes, bodyLength } = ownAnswerBytes('edge-1', failure);
  expect(bodyLength).toBe(25);
  expect(bytes.toString()).toBe(
    [
      'HTTP/1.1 504 Gateway Timeout',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Length: 25',
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      'Proxy-Status: edge-1; error=connection_timeout',
      'Connection: close',
      '',
      'a.example: no connection\n',
    ].join('\r\n'),
  );
});

test.each([
  ['a failure by its type in RFC 9209', failure, 'error=connection_timeout'],
  [
    'a refusal of the guard',
    refusal(400, 'host-missing', 'x'),
    'error=http_request_error; details="host-missing"',
  ],
  [
    'a refusal of the proxy',
    { status: 508, code: 'loop', message: 'x' },
    'error=http_request_denied; details="loop"',
  ],
])('Proxy-Status names %s', (_what, answer, expected) => {
  expect(ownAnswerBytes('edge-1', answer).bytes.toString()).toContain(
    `\r\nProxy-Status: edge-1; ${expected}\r\n`,
  );
});

test('Proxy-Status has a name that is no token as a string (RFC 9209, 2)', () => {
  const text = ownAnswerBytes('edge "1"', failure).bytes.toString();
  expect(text).toContain('\r\nProxy-Status: "edge \\"1\\""; error=connection_timeout\r\n');
});

test.each([true, false])('sendOwnAnswer writes the same answer as ownAnswerBytes, close: %s', (close) => {
  const request = Object.assign(new IncomingMessage(new Socket()), {
    httpVersionMajor: 1,
    httpVersionMinor: 1,
  });
  const response = new ServerResponse(request);
  response.sendDate = false;
  let sent = '';
  const socket = new Socket();
  socket.write = ((chunk: string | Buffer) => {
    sent += chunk;
    return true;
  }) as Socket['write'];
  response.assignSocket(socket);
  expect(sendOwnAnswer(response, 'edge-1', failure, close)).toBe(25);
  const bytes = ownAnswerBytes('edge-1', failure).bytes.toString();
  expect(sent.replace(/Connection: keep-alive\r\n(Keep-Alive: .*\r\n)?/, '')).toBe(
    close ? bytes : bytes.replace('Connection: close\r\n', ''),
  );
});

test('no other file of the package writes Proxy-Status', () => {
  const sources = fileURLToPath(new URL('..', import.meta.url));
  const writers = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter(
    (path) =>
      path.endsWith('.ts') &&
      !path.endsWith('.test.ts') &&
      /['"`]proxy-status/i.test(readFileSync(`${sources}/${path}`, 'utf8')),
  );
  expect(writers).toEqual(['safety/own-answer.ts']);
});
