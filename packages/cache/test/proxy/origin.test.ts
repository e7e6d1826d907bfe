/** The way out: kept connections, the one more try, pools that give way, TLS. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { afterEach, describe, expect, it } from 'vitest';
import { OriginClient } from '../../src/proxy/origin/origin-client.ts';
import type { OriginError } from '../../src/proxy/origin/origin-error.ts';
import type { OriginFetch, OriginRequest } from '../../src/proxy/origin/origin-fetch.ts';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { checkLimits, type Limits } from '../../src/safety/limits.ts';
import { eventually } from './proxy-lab.ts';

const clients: OriginClient[] = [];
const labs: OriginLab[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const lab of labs.splice(0)) await lab.close();
});

function makeClient(
  options: {
    limits?: Partial<Limits>;
    origins?: number;
    certificates?: string[];
    timers?: VirtualClock;
  } = {},
) {
  const client = new OriginClient({
    ...options,
    limits: checkLimits(options.limits),
    addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
    problem: (error) => {
      throw error;
    },
  });
  clients.push(client);
  return client;
}

async function makeOrigin(options?: Parameters<typeof startOrigin>[0]) {
  const lab = await startOrigin(options);
  labs.push(lab);
  return lab;
}

interface Outcome {
  status: number;
  text: string;
  error: OriginError | null;
  fetch: OriginFetch;
}

function fetch(client: OriginClient, lab: OriginLab, path: string, more: Partial<OriginRequest> = {}) {
  return begin(client, lab, path, more).done;
}

/** Begins a fetch. `soFar` is what has come of it. */
function begin(client: OriginClient, lab: OriginLab, path: string, more: Partial<OriginRequest> = {}) {
  const soFar = { status: 0, text: '', error: null as OriginError | null } as Outcome;
  const done = new Promise<Outcome>((resolve) => {
    soFar.fetch = client.fetch(
      {
        origin: lab.origin,
        trusted: false,
        method: 'GET',
        path,
        headers: [],
        host: `127.0.0.1:${lab.port}`,
        body: null,
        ...more,
      },
      {
        onHead: ({ status }) => {
          soFar.status = status;
        },
        onData: (chunk) => {
          soFar.text += chunk;
        },
        onEnd: () => resolve(soFar),
        onError: (error) => {
          soFar.error = error;
          resolve(soFar);
        },
      },
    );
  });
  return { soFar, done };
}

describe('OriginClient', () => {
  it('keeps connections and uses them again', async () => {
    const client = makeClient();
    const lab = await makeOrigin();
    lab.on('/a', { body: 'x' });
    for (let i = 0; i < 5; i++) expect((await fetch(client, lab, '/a')).text).toBe('x');
    expect(lab.connections).toBe(1);
    await Promise.all([1, 2, 3].map(() => fetch(client, lab, '/a')));
    expect(lab.connections).toBeLessThanOrEqual(3);
    expect(client.origins).toBe(1);
    expect(client.running).toBe(0);
  });

  it('tries once more on a kept connection that was closed meanwhile', async () => {
    const client = makeClient();
    const lab = await makeOrigin();
    lab.on('/a', { body: 'x' });
    await fetch(client, lab, '/a');
    lab.on('/b', (_, count) => (count === 1 ? { raw: (socket) => socket.destroy() } : { body: 'again' }));
    const outcome = await fetch(client, lab, '/b');
    expect([outcome.error, outcome.text]).toEqual([null, 'again']);
    expect(lab.count('/b')).toBe(2);
  });

  it('does not on a fresh connection, nor a second time, nor when it may change something', async () => {
    const client = makeClient();
    const lab = await makeOrigin();
    lab.on('/a', { body: 'x' });
    lab.on('/closes', { raw: (socket) => socket.destroy() });
    const fresh = await fetch(client, lab, '/closes');
    expect([fresh.error?.code, lab.count('/closes')]).toEqual(['connection_terminated', 1]);
    await fetch(client, lab, '/a');
    const kept = await fetch(client, lab, '/closes');
    expect([kept.error?.code, lab.count('/closes')]).toEqual(['connection_terminated', 3]);
    await fetch(client, lab, '/a');
    const post = await fetch(client, lab, '/closes', { method: 'POST' });
    expect([post.error?.code, lab.count('/closes')]).toEqual(['connection_terminated', 4]);
  });

  it('does not after a byte of a response', async () => {
    const client = makeClient();
    const lab = await makeOrigin();
    lab.on('/a', { body: 'x' });
    lab.on('/closes', { raw: (socket) => socket.end('HTTP/1.1 2') });
    await fetch(client, lab, '/a');
    const outcome = await fetch(client, lab, '/closes');
    expect([outcome.error?.code, lab.count('/closes')]).toEqual(['http_response_incomplete', 1]);
  });

  it('measures silence by its clock: each piece begins it again, and a body that is held back has none', async () => {
    const clock = new VirtualClock();
    const client = makeClient({
      timers: clock,
      limits: { originHeadTimeoutMs: 30_000, originIdleTimeoutMs: 60_000 },
    });
    const lab = await makeOrigin();
    const lines: Socket[] = [];
    lab.on('/slow', { raw: (socket) => lines.push(socket) });
    const { soFar, done } = begin(client, lab, '/slow');
    await eventually(() => lines.length === 1);
    await clock.advance(29_999);
    lines[0]!.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1');
    const came = (bytes: number) => eventually(() => soFar.text.length === bytes);
    await came(1);
    for (const bytes of [2, 3]) {
      await clock.advance(59_999);
      lines[0]!.write('x');
      await came(bytes);
    }
    soFar.fetch.pause();
    await clock.advance(1_000_000);
    soFar.fetch.resume();
    await clock.advance(59_999);
    expect(client.running).toBe(1);
    await clock.advance(1);
    expect((await done).error).toMatchObject({
      code: 'connection_read_timeout',
      message: expect.stringMatching('the body stopped for 60000 ms'),
    });
    expect(clock.pending).toBe(0);
  });

  it('gives up on an origin that sends no head, by its clock', async () => {
    const clock = new VirtualClock();
    const client = makeClient({ timers: clock, limits: { originHeadTimeoutMs: 30_000 } });
    const lab = await makeOrigin();
    lab.on('/silent', { raw: () => {} });
    const { done } = begin(client, lab, '/silent');
    await eventually(() => lab.count('/silent') === 1);
    await clock.advance(29_999);
    expect(client.running).toBe(1);
    await clock.advance(1);
    expect((await done).error?.code).toBe('http_response_timeout');
    expect(clock.pending).toBe(0);
  });

  it('lets requests wait in line for a connection, and leave it', async () => {
    const client = makeClient();
    const lab = await makeOrigin();
    let open = 0;
    let most = 0;
    lab.on('/a', async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 20));
      open--;
      return { body: 'x' };
    });
    const fetches = Array.from({ length: 300 }, () => fetch(client, lab, '/a'));
    await eventually(() => client.running === 300);
    expect(client.connections).toBe(256);
    const outcomes = await Promise.all(fetches);
    expect(outcomes.every(({ text }) => text === 'x')).toBe(true);
    expect(most).toBeLessThanOrEqual(256);
  });

  it('gives up connections to origins that are not used, for others', async () => {
    const client = makeClient({ origins: 2 });
    const [one, two, three] = [await makeOrigin(), await makeOrigin(), await makeOrigin()];
    for (const lab of [one, two, three]) {
      lab.on('/a', { body: 'x' });
      lab.on('/held', { body: 'x', delayMs: 300 });
    }
    await fetch(client, one, '/a');
    await fetch(client, two, '/a');
    await fetch(client, one, '/a');
    await fetch(client, three, '/a');
    expect(client.origins).toBe(2);
    await eventually(() => two.open === 0);
    expect(one.open).toBe(1);
    // Both are in use: there is nothing to give up.
    const held = [fetch(client, one, '/held'), fetch(client, three, '/held')];
    expect((await fetch(client, two, '/a')).error?.code).toBe('connection_limit_reached');
    await Promise.all(held);
    expect((await fetch(client, two, '/a')).text).toBe('x');
  });

  it('closes what it has when it is closed', async () => {
    const client = makeClient();
    const lab = await makeOrigin();
    lab.on('/a', { body: 'x', delayMs: 1000 });
    const running = fetch(client, lab, '/a');
    await eventually(() => lab.count('/a') === 1);
    client.close();
    expect((await running).error?.message).toBe('This node is shutting down');
    await eventually(() => lab.open === 0);
    expect((await fetch(client, lab, '/a')).error?.message).toBe('This node is shutting down');
  });

  it('never shares connections between what the operator and what an untrusted client chose', async () => {
    const client = makeClient();
    const lab = await makeOrigin();
    lab.on('/a', { body: 'x' });
    await fetch(client, lab, '/a', { trusted: true });
    await fetch(client, lab, '/a', { trusted: false });
    expect(lab.connections).toBe(2);
  });

  it('verifies certificates', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bloomery-tls-'));
    try {
      const files = selfSigned(folder, 'origin');
      const [key, cert] = [readFileSync(files.key, 'utf8'), readFileSync(files.cert, 'utf8')];
      const lab = await makeOrigin({ tls: { key, cert } });
      lab.on('/a', { body: 'secret' });
      const untrusted = await fetch(makeClient(), lab, '/a');
      expect([untrusted.error?.code, untrusted.error?.status]).toEqual(['tls_certificate_error', 502]);
      const friend = await fetch(makeClient({ certificates: [cert] }), lab, '/a');
      expect(friend.text).toBe('secret');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
