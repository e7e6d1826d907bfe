import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestAuthority } from '@bloomery/testkit/programs/test-authority';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configProblems } from '../../../test/node/config-problems.ts';
import { loadConfig, printConfig } from './node-config.ts';
import { settingsForRestart } from './reload-rules.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-certificates-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode });
  return path;
}

const secret = file('secret', 'correct horse battery staple\n');
let files: Record<'peerCert' | 'peerKey' | 'peerCa', string>;
beforeAll(() => {
  const authority = new TestAuthority(folder, 'authority');
  const { cert, key } = authority.issue('cache-a', { names: 'DNS:cache-a,DNS:cache-b,IP:127.0.0.1' });
  files = { peerCert: file('cert', cert), peerKey: file('key', key), peerCa: join(folder, 'authority.pem') };
});

const load = (flags: Record<string, unknown>) =>
  loadConfig({ flags: { peerSecret: secret, peerListen: '127.0.0.1:3129', ...files, ...flags } });
const problemsOf = (flags: Record<string, unknown>) => configProblems(() => load(flags));

test('with certificates, addresses without a scheme have TLS, and the certificate names the node', () => {
  const config = load({ peer: ['10.0.0.2:3129', 'https://b:3129'], peersDns: ['caches.test'] });
  expect(config.name).toBe('cache-a');
  expect(config.peers).toMatchObject({
    peers: ['https://10.0.0.2:3129', 'https://b:3129'],
    listen: { secure: true },
    certificates: { certFile: files.peerCert, keyFile: files.peerKey, caFile: files.peerCa },
  });
  expect(config.peers!.dns[0]).toMatchObject({ host: 'caches.test', scheme: 'https' });
  expect(config.warnings).toEqual([]);
  const again = loadConfig({ file: file('printed.json', printConfig(config)) });
  expect(again.peers).toEqual(config.peers);
  expect(load({ name: 'cache-b' }).name).toBe('cache-b');
});

test('with certificates, addresses without TLS are refused', () => {
  const flags = {
    peer: ['http://10.0.0.2:3129'],
    peersDns: ['http://caches.test'],
    peerListen: 'http://127.0.0.1:3129',
  };
  expect(problemsOf(flags)).toEqual([
    '--peer http://10.0.0.2:3129 is without TLS; with --peer-cert, expected https://',
    '--peers-dns caches.test:3129 is without TLS; with --peer-cert, expected https://',
    '--peer-listen http://127.0.0.1:3129 is without TLS; with --peer-cert, expected https://',
  ]);
});

test('certificates that cannot be used are refused with the reason', () => {
  expect(problemsOf({ peerKey: undefined, peerCa: undefined })).toEqual([
    '--peer-cert needs --peer-key and --peer-ca as well: mutual TLS takes all three',
  ]);
  expect(problemsOf({ peerCa: join(folder, 'none') })).toEqual([
    `--peer-cert: cannot read ${join(folder, 'none')}: ENOENT`,
  ]);
  expect(problemsOf({ peerKey: join(folder, 'authority.key') })[0]).toMatch(/key values mismatch/);
  expect(problemsOf({ name: 'cache-c' })).toEqual([
    '--peer-cert: Cannot take the certificates of a node: expected the name cache-c among the DNS names of the certificate, got cache-a, cache-b',
  ]);
  // The secret stays obligatory.
  expect(problemsOf({ peerSecret: undefined })[0]).toMatch(/^--peer-listen needs --peer-secret/);
});

test('a key that every user can read gets a warning, and other names of files need a restart', () => {
  const open = file('open.key', readFileSync(files.peerKey, 'utf8'), 0o644);
  expect(load({ peerKey: open }).warnings).toEqual([
    `every user of this machine can read the key in ${open}; chmod 600 ends that`,
  ]);
  expect(settingsForRestart(load({}), load({ peerKey: open }))).toEqual(['peerKey']);
});
