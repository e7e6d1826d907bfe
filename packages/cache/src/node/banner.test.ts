import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { banner } from './banner.ts';
import { loadConfig } from './config/node-config.ts';

function fleetConfig() {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-banner-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const peerSecret = join(folder, 'fleet.secret');
  writeFileSync(peerSecret, 'x'.repeat(32), { mode: 0o600 });
  return loadConfig({ flags: { peer: ['http://127.0.0.1:4202'], peerSecret, disk: false } });
}

const FACTS = {
  listen: [{ host: '127.0.0.1', port: 4101, secure: false }],
  adminListen: null,
  folder: null,
  drawnToken: 'Token-of-22-characters',
  version: '0.0.0',
  command: 'npm start --',
};

test('banner shows how to see the neighbours of this very node', () => {
  const text = banner(fleetConfig(), FACTS);
  expect(text).toContain('http://127.0.0.1:4202    (npm start -- peers --node http://127.0.0.1:4101)\n');
});

test('banner names the admin address, if there is one, for commands that read the status', () => {
  const adminListen = { host: '127.0.0.1', port: 4301, secure: false };
  const text = banner(fleetConfig(), { ...FACTS, adminListen });
  expect(text).toContain('peers --node http://127.0.0.1:4301)');
  expect(text).toContain('curl http://127.0.0.1:4301/.bloomery/status');
});

test('banner shows the address of the console with a token that was drawn, and no other token', () => {
  expect(banner(fleetConfig(), FACTS)).toContain(
    'http://127.0.0.1:4101/.bloomery/console/#token=Token-of-22-characters\n',
  );
  const text = banner(fleetConfig(), { ...FACTS, drawnToken: null });
  expect(text).toContain('http://127.0.0.1:4101/.bloomery/console/    (it asks for the token)\n');
});

test('banner names the option that a reverse proxy needs for the console', () => {
  const config = loadConfig({ flags: { upstream: ['http://127.0.0.1:1/'], disk: false } });
  expect(banner(config, FACTS)).not.toContain('/console/');
  expect(banner(config, FACTS)).toContain('--admin-listen');
});
