/** A fetch with a plan of several sources: real servers stand in front of a real origin. */

import type { Socket } from 'node:net';
import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isPeerCopy } from '../../src/policy/peer-copy.ts';
import { OriginClient } from '../../src/proxy/origin/origin-client.ts';
import { OriginSource } from '../../src/proxy/origin/origin-source.ts';
import type { ResponseSource } from '../../src/proxy/response-source.ts';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { checkLimits } from '../../src/safety/limits.ts';
import { eventually, type ProxyLab, startProxy } from './proxy-lab.ts';

let origin: OriginLab;
let near: OriginLab;
let client: OriginClient;
let lab: ProxyLab;
/** How often the proxy asked for a plan. */
let plans: number;

const storable = ['Cache-Control', 'max-age=60'];

/** A server as a source for the path of the request. */
function source(port: number, path: string): ResponseSource {
  const server = `http://127.0.0.1:${port}`;
  const route = { key: '', origin: server, host: `127.0.0.1:${port}`, path, trusted: true, mapping: null };
  return new OriginSource(client, route);
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

beforeEach(async () => {
  [origin, near] = await Promise.all([startOrigin(), startOrigin()]);
  client = new OriginClient({
    limits: checkLimits(),
    addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
    problem: () => {},
  });
  plans = 0;
  lab = await startProxy({
    sourcesBeforeOrigin: (_request, { path }) => {
      plans++;
      return [source(near.port, path)];
    },
  });
});

afterEach(async () => {
  await lab.close();
  client.close();
  await Promise.all([origin.close(), near.close()]);
});

describe('a plan of sources', () => {
  test('is asked in order: a source that has the response keeps the request from the origin', async () => {
    near.on('/a', { headers: storable, body: 'near' });
    expect((await lab.get(origin.url('/a'))).text).toBe('near');
    expect([near.count('/a'), origin.count('/a')]).toEqual([1, 0]);
    expect((await lab.get(origin.url('/a'))).text).toBe('near');
    expect([near.count('/a'), plans]).toEqual([1, 1]);
  });

  test('marks the responses of a source of copies, and those of no other', async () => {
    await lab.close();
    lab = await startProxy({
      sourcesBeforeOrigin: (_request, { path }) => {
        const inner = source(near.port, path);
        return [{ name: 'near', copies: true, ask: (...asked) => inner.ask(...asked) }];
      },
    });
    const marks: Record<string, boolean> = {};
    lab.store.watch((key, change, response) => {
      if (change === 'added') marks[new URL(key).pathname] = isPeerCopy(response!);
    });
    near.on('/a', { headers: storable, body: 'near' });
    near.on('/b', { raw: (socket) => socket.destroy() });
    origin.on('/b', { headers: storable, body: 'far' });
    for (const path of ['/a', '/b']) await lab.get(origin.url(path));
    await eventually(() => Object.keys(marks).length === 2);
    expect(marks).toEqual({ '/a': true, '/b': false });
  });

  test('goes on to the origin if a source cannot be reached', async () => {
    origin.on('/a', { headers: storable, body: 'far' });
    await near.close();
    const reply = await lab.get(origin.url('/a'));
    expect([reply.status, reply.text]).toEqual([200, 'far']);
  });

  test('goes on to the origin if a source closes the connection before the head', async () => {
    near.on('/a', { raw: (socket) => socket.destroy() });
    origin.on('/a', { headers: storable, body: 'far' });
    expect((await lab.get(origin.url('/a'))).text).toBe('far');
    expect([near.count('/a'), origin.count('/a')]).toEqual([1, 1]);
  });

  test('is shared by all requests that wait, whichever source answers', async () => {
    const door = gate();
    near.on('/a', async () => {
      await door.opened;
      return { raw: (socket: Socket) => socket.destroy() };
    });
    origin.on('/a', { headers: storable, body: 'far' });
    const replies = Promise.all(Array.from({ length: 20 }, () => lab.get(origin.url('/a'))));
    await eventually(() => lab.asked() === 20 && near.count('/a') === 1);
    door.open();
    for (const { text } of await replies) expect(text).toBe('far');
    expect([near.count('/a'), origin.count('/a'), plans]).toEqual([1, 1, 1]);
  });

  test('fails as its last source does', async () => {
    await near.close();
    const url = origin.url('/a');
    await origin.close();
    const reply = await lab.get(url);
    expect([reply.status, reply.text]).toEqual([502, expect.stringContaining(new URL(url).port)]);
  });

  test('ends when no client waits any more, without asking the next source', async () => {
    const door = gate();
    near.on('/a', async () => {
      await door.opened;
      return { raw: (socket: Socket) => socket.destroy() };
    });
    const leaving = new AbortController();
    const reply = lab.ask({
      target: origin.url('/a'),
      headers: ['Cache-Control', 'no-cache'],
      signal: leaving.signal,
    });
    await eventually(() => near.count('/a') === 1);
    leaving.abort();
    await expect(reply).rejects.toThrow();
    door.open();
    await eventually(() => lab.records.length === 1);
    expect(origin.count('/a')).toBe(0);
  });

  test('goes on to the origin if a source, or the choice of sources, throws', async () => {
    origin.on('/a', { body: 'far' });
    const broken = () => {
      throw new Error('broken');
    };
    for (const sourcesBeforeOrigin of [broken, () => [{ name: 'broken', ask: broken }]]) {
      await lab.close();
      lab = await startProxy({ sourcesBeforeOrigin });
      expect((await lab.get(origin.url('/a'))).text).toBe('far');
      const failed = lab.events.filter(({ name }) => name === 'source-failed');
      expect(failed).toMatchObject([{ level: 'error', fields: { problem: { message: 'broken' } } }]);
      expect(lab.proxy.activity).toMatchObject({ fetches: 0, flights: 0 });
    }
  });

  test('gives each source the origin, for the rest of a body', async () => {
    origin.on('/a', { headers: storable, body: 'far' });
    await lab.close();
    lab = await startProxy({
      sourcesBeforeOrigin: (_request, _route, _decision, last) => [
        { name: 'on behalf', ask: last.ask.bind(last) },
      ],
    });
    expect((await lab.get(origin.url('/a'))).text).toBe('far');
    expect(origin.count('/a')).toBe(1);
  });

  test('has only the origin for a request with a body, which can be sent once', async () => {
    origin.on('/a', { body: 'posted' });
    const reply = await lab.ask({ target: origin.url('/a'), method: 'POST', body: 'x' });
    expect([reply.text, near.count('/a'), plans]).toEqual(['posted', 0, 0]);
  });
});
