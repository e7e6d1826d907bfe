/** TLS on the listening side: what is limited, what a stop waits for, and which ports have it. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/node/config/config-sources.ts';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { ask, scratchFolder, startOrigin, startTestNode } from './scratch.ts';

const folder = scratchFolder();

function certificate(name: string): { readonly tlsCert: string; readonly tlsKey: string } {
  const { cert, key } = selfSigned(folder, name);
  return { tlsCert: cert, tlsKey: key };
}

describe('TLS', () => {
  it('has as long for its handshake as a head has', { timeout: 50_000 }, async () => {
    const origin = await startOrigin();
    const node = await startTestNode({
      upstream: [origin.url],
      ...certificate('slow'),
      limits: { headTimeoutMs: '1s' },
    });
    const silent = connect(node.port, '127.0.0.1');
    silent.on('error', () => {});
    const began = performance.now();
    await once(silent, 'close');
    expect(performance.now() - began).toBeGreaterThan(500);
  });

  it('does not hold up a stop by a client that has said nothing since its handshake', {
    timeout: 30_000,
  }, async () => {
    const origin = await startOrigin();
    const files = certificate('quiet');
    const node = await startTestNode({ upstream: [origin.url], ...files, shutdownTimeout: '10m' });
    const quiet = connectSecurely({ port: node.port, host: '127.0.0.1', ca: readFileSync(files.tlsCert) });
    quiet.on('error', () => {});
    await once(quiet, 'secureConnect');
    await Promise.all([node.close(), once(quiet, 'close')]);
  });

  it('is on the port of the admin endpoints, if that asks for it, and changes with the others', async () => {
    const origin = await startOrigin();
    const [one, two] = [certificate('admin-one'), certificate('admin-two')];
    const flags = { upstream: [origin.url], disk: false, adminListen: 'https://127.0.0.1:0' };
    const node = await startTestNode({ ...flags, ...one });
    const port = node.adminListen?.port as number;
    const over = (files: { readonly tlsCert: string }) =>
      ask(port, '/.bloomery/status', { secure: true, ca: readFileSync(files.tlsCert) } as never);
    expect((await over(one)).status).toBe(200);
    await expect(ask(port, '/.bloomery/status')).rejects.toThrow();
    node.reload(loadConfig({ flags: { ...flags, ...two, listen: [`127.0.0.1:${node.port}`] } }));
    expect((await over(two)).status).toBe(200);
  });

  it('needs a certificate there as well', () => {
    expect(() => loadConfig({ flags: { adminListen: 'https://127.0.0.1:0' } })).toThrow(ConfigError);
    expect(() => loadConfig({ flags: { adminListen: 'https://127.0.0.1:0' } })).toThrow(
      /https:\/\/127\.0\.0\.1:0 needs --tls-cert and --tls-key/,
    );
  });
});
