/**
 * How a body and its head go out to a client: fields that must not, and faults of this node's own,
 * which end one answer and no more.
 */

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SendOptions, sendStored } from '../../src/proxy/client/body-sender.ts';
import { Exchange } from '../../src/proxy/client/exchange.ts';
import type { AnswerRecord } from '../../src/proxy/proxy-observer.ts';
import type { Route } from '../../src/proxy/route.ts';
import type { BodyReader } from '../../src/store/response-store.ts';
import { eventually, rawConnection, send, startProxy } from './proxy-lab.ts';

describe('the length of a response without content', () => {
  it.each([
    ['204 No Content', 'GET', 'no-store', '0', undefined],
    ['204 No Content', 'GET', 'no-store', '5', undefined],
    ['204 No Content', 'DELETE', 'no-store', '0', undefined],
    ['204 No Content', 'GET', 'max-age=60', '0', undefined],
    ['204 No Content', 'GET', 'max-age=60', '5', undefined],
    // RFC 9110, 8.6: here it is that of the 200.
    ['304 Not Modified', 'GET', 'no-store', '5', '5'],
    ['205 Reset Content', 'GET', 'no-store', '0', '0'],
  ])('%s to %s, %s, length %s: %s', async (status, method, control, length, expected) => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    const head = `HTTP/1.1 ${status}\r\nCache-Control: ${control}\r\nContent-Length: ${length}\r\n`;
    origin.on('/n', { raw: (socket) => socket.end(`${head}Connection: close\r\n\r\n`) });
    const raw = await rawConnection(lab.port);
    raw.socket.write(
      `${method} ${origin.url('/n')} HTTP/1.1\r\nHost: x\r\nIf-None-Match: "q"\r\nConnection: close\r\n\r\n`,
    );
    const text = await raw.ended();
    raw.socket.destroy();
    expect(text.startsWith(`HTTP/1.1 ${status}\r\n`), text).toBe(true);
    expect(/\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1]).toBe(expected);
    expect(text.endsWith('\r\n\r\n')).toBe(true);
  });
});

describe('a fault of this node’s own', () => {
  let server: Server;
  let listener: RequestListener;
  const records: AnswerRecord[] = [];
  const escaped: unknown[] = [];
  const escapes = (problem: unknown) => escaped.push(problem);

  beforeEach(async () => {
    records.length = escaped.length = 0;
    process.on('unhandledRejection', escapes).on('uncaughtException', escapes);
    server = createServer((req, res) => listener(req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    process.off('unhandledRejection', escapes).off('uncaughtException', escapes);
  });

  const large = Buffer.alloc(8_000_000, 'x');
  /** Gives the pieces, and then breaks, at once or later. */
  const reader = (later: boolean, pieces: readonly Uint8Array[]) => {
    const left = [...pieces];
    const give = (): Uint8Array => {
      const piece = left.shift();
      if (piece === undefined) throw new Error('The disk is broken');
      return piece;
    };
    const made = {
      closed: false,
      next: () => (later ? new Promise((resolve) => setImmediate(resolve)).then(give) : give()),
      close() {
        made.closed = true;
      },
    };
    return made satisfies BodyReader;
  };
  const twice = (exchange: Exchange) => () => {
    exchange.res.writeHead(200, { 'Content-Length': 9_000_000 });
    exchange.res.write('x');
    exchange.res.writeHead(200);
  };
  const once = (exchange: Exchange) => () => {
    exchange.res.writeHead(200, { 'Content-Length': 9_000_000 });
  };
  const unable = () => {
    throw new Error('The rest cannot be had');
  };

  it.each([
    ['in the head, at once', reader(false, [large]), twice, () => {}, 'ERR_HTTP_HEADERS_SENT'],
    ['in the head, later', reader(true, [large]), twice, () => {}, 'ERR_HTTP_HEADERS_SENT'],
    ['after a drain', reader(false, [large]), once, unable, 'The rest cannot be had'],
    ['after a promise', reader(true, [large.subarray(0, 10)]), once, unable, 'The rest cannot be had'],
  ])('%s ends one answer, and is told', async (_when, source, begin, failed, told) => {
    const problems: unknown[] = [];
    listener = (req, res) => {
      const request = { method: 'GET', key: 'http://a/', headers: [] };
      const observer = { answered: (record: AnswerRecord) => records.push(record), event: () => {} };
      const exchange = new Exchange({
        req,
        res,
        client: '',
        request,
        route: {} as Route,
        at: 0,
        name: 'test',
        observer,
      });
      exchange.follow();
      const options: SendOptions = {
        stallMs: 1000,
        begin: begin(exchange),
        failed,
        broke: (problem) => problems.push(problem),
      };
      sendStored(exchange, source, options);
    };
    const { port } = server.address() as AddressInfo;
    await expect(send(port, { target: '/' })).rejects.toThrow();
    const record = await eventually(() => records[0]);
    expect(record).toMatchObject({ outcome: 'error', reason: 'proxy_internal_error', aborted: true });
    expect(
      problems.map((problem) => (problem as { code?: string }).code ?? (problem as Error).message),
    ).toEqual([told]);
    expect(source.closed).toBe(true);
    expect(escaped).toEqual([]);
  });
});
