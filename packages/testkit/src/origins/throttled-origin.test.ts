import { afterEach, expect, test } from 'vitest';
import { knownBody, knownPath } from './known-body.ts';
import { ThrottledOrigin, type ThrottledOriginOptions } from './throttled-origin.ts';

const open: ThrottledOrigin[] = [];
afterEach(async () => {
  for (const origin of open.splice(0)) await origin[Symbol.asyncDispose]();
});

async function started(options?: ThrottledOriginOptions): Promise<ThrottledOrigin> {
  const origin = await ThrottledOrigin.start(options);
  open.push(origin);
  return origin;
}

async function ask(origin: ThrottledOrigin, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(origin.url + path, { headers });
  return { answer, body: Buffer.from(await answer.arrayBuffer()) };
}

test('ThrottledOrigin sends known bytes, whole, in ranges and as 304, and counts them', async () => {
  const origin = await started();
  const path = knownPath('object', 100_000);
  const whole = await ask(origin, path);
  expect(whole.answer.status).toBe(200);
  expect(whole.body.equals(knownBody(path))).toBe(true);
  const tag = whole.answer.headers.get('etag')!;
  const rest = await ask(origin, path, { range: 'bytes=99000-', 'if-range': tag });
  expect(rest.answer.status).toBe(206);
  expect(rest.answer.headers.get('content-range')).toBe('bytes 99000-99999/100000');
  expect(rest.body.equals(knownBody(path).subarray(99_000))).toBe(true);
  expect((await ask(origin, path, { range: 'bytes=0-9', 'if-range': '"other"' })).answer.status).toBe(200);
  expect((await ask(origin, path, { range: 'bytes=100000-' })).answer.status).toBe(416);
  expect((await ask(origin, path, { 'if-none-match': tag })).answer.status).toBe(304);
  expect((await ask(origin, '/other')).answer.status).toBe(404);
  expect([origin.fetches(path), origin.rangeFetches(path)]).toEqual([5, 3]);
  expect(origin.requests.map(({ bytes }) => bytes)).toEqual([100_000, 1000, 100_000, 0, 0, 0]);
});

test('ThrottledOrigin shares one bandwidth between its answers', async () => {
  const origin = await started({ bytesPerSecond: 4_000_000 });
  const began = performance.now();
  const bodies = await Promise.all(
    ['a', 'b'].map((name) => ask(origin, knownPath(name, 200_000)).then(({ body }) => body)),
  );
  // 400 kB at 4 MB/s, of which a burst of 20 ms comes at once, and the last piece without a wait.
  expect(performance.now() - began).toBeGreaterThan(70);
  for (const [i, name] of ['a', 'b'].entries())
    expect(bodies[i]!.equals(knownBody(knownPath(name, 200_000)))).toBe(true);
});

test('ThrottledOrigin takes fields for a path and waits before the head', async () => {
  const fields = (path: string): Record<string, string> =>
    path.startsWith('/private') ? { 'Cache-Control': 'private' } : {};
  const origin = await started({ fields, headDelayMs: 20 });
  const began = performance.now();
  const { answer } = await ask(origin, knownPath('private', 10));
  expect(performance.now() - began).toBeGreaterThan(19);
  expect(answer.headers.get('cache-control')).toBe('private');
  expect((await ask(origin, knownPath('public', 10))).answer.headers.get('cache-control')).toBe(
    'max-age=86400',
  );
});
