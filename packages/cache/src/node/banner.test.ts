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
