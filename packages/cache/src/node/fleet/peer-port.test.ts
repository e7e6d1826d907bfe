import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { TestAuthority } from '@bloomery/testkit/programs/test-authority';
import { certifiedNames, FleetCertificates } from '@bloomery/transport/http';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../safety/limits.ts';
import { openPeerPort } from './peer-port.ts';

test('openPeerPort ends connections from before a change of certificates with their next answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-port-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [older, newer] = ['older', 'newer'].map((name) => new TestAuthority(folder, name)) as [
    TestAuthority,
    TestAuthority,
  ];
  const certificates = new FleetCertificates({ ...older.issue('b'), ca: older.pem });
  const port = await openPeerPort({
    address: { host: '127.0.0.1', port: 0, secure: true },
    certificate: null,
    certificates,
    limits: DEFAULT_LIMITS,
    name: () => 'b',
    handle: (request, response) => void response.end(String(certifiedNames(request.socket))),
    failed: () => {},
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...older.issue('a'), ca: older.pem + newer.pem });
  onTestFinished(async () => {
    agent.destroy();
    await port.close(0);
  });
  const ask = async () => {
    const sent = httpsRequest({ host: '127.0.0.1', port: port.address.port, path: '/', agent }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await text(response);
    return `${body}, ${response.headers.connection}, ${sent.reusedSocket ? 'kept' : 'new'}`;
  };
  expect([await ask(), await ask()]).toEqual(['a, keep-alive, new', 'a, keep-alive, kept']);
  certificates.change({ ...newer.issue('b'), ca: newer.pem }, 'b');
  // The authority of the asker is no longer accepted: its names are gone with the connection.
  expect([await ask(), await ask()]).toEqual(['a, close, kept', 'null, keep-alive, new']);
});
