/** Requests for hosts that a node does not serve, sent to a node that is only a reverse proxy. */

import { expect, test } from 'vitest';
import { ask, startOrigin, startTestNode } from './scratch.ts';

test('a reverse proxy does not answer for other hosts, and stores nothing for them', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url], publicHost: ['Cdn.example'] });
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    const answer = await ask(node.port, 'http://bank.example/a', { method });
    expect([method, answer.status]).toEqual([method, 421]);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toBe(
      'This node is not "bank.example", and not a forward proxy (--public-host, --forward)\n',
    );
  }
  expect(origin.asked).toEqual([]);
  expect((await node.status()).stores.memory).toMatchObject({ responses: 0 });
  // Its own names, in absolute form; and each Host in origin form.
  const served = [`http://127.0.0.1:${node.port}/a`, 'http://localhost/a', 'https://cdn.example/a'];
  for (const target of served) expect((await ask(node.port, target)).body, target).toBe('/a 1');
  expect((await ask(node.port, '/a', { headers: { host: 'bank.example' } })).body).toBe('/a 1');
  expect(origin.asked).toEqual(['GET /a']);
});
