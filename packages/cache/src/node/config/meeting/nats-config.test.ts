import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfig, printConfig } from '../node-config.ts';
import { settingsForRestart } from '../reload-rules.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-nats-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};
const peerSecret = file('secret', 'a secret of enough bytes\n');

function load(flags: Record<string, unknown>) {
  const nats = 'nats://10.0.0.5:4222';
  return loadConfig({ flags: { nats, peerListen: '10.0.0.2:3129', peerSecret, ...flags } });
}

const problemOf = (flags: Record<string, unknown>) => {
  try {
    load(flags);
    return 'none';
  } catch (error) {
    return (error as Error).message;
  }
};

test('--nats makes a fleet without a list of neighbours', () => {
  const { peers, warnings } = load({ natsFleet: 'prod', peer: [] });
  expect(peers).toMatchObject({
    peers: [],
    nats: { url: 'nats://10.0.0.5:4222', fleet: 'prod', credsFile: null, caFile: null },
    address: null,
  });
  expect(warnings).toEqual([]);
  expect(load({}).peers?.nats?.fleet).toBe('default');
});

test('--nats: a password is printed nowhere, and warned about where it is sent in the open', () => {
  const config = load({ nats: 'nats://ann:s3cret@10.0.0.5' });
  expect(printConfig(config)).not.toMatch(/s3cret|ann/);
  expect(printConfig(config)).toContain('nats://10.0.0.5:4222');
  expect(config.warnings).toEqual([
    'the password of --nats goes over the network unencrypted; tls:// ends that',
  ]);
  expect(load({ nats: 'nats://ann:s3cret@127.0.0.1' }).warnings).toEqual([]);
  expect(load({ nats: 'tls://ann:s3cret@10.0.0.5' }).warnings).toEqual([]);
  expect(problemOf({ nats: 'http://ann:s3cret@10.0.0.5' })).not.toContain('s3cret');
});

test('--nats refuses settings that do not go together', () => {
  expect(problemOf({ peer: ['http://10.0.0.3:3129'] })).toContain('--nats finds the neighbours by itself');
  expect(problemOf({ peerListen: '0.0.0.0:3129' })).toContain('--peer-address does');
  expect(load({ peerListen: '0.0.0.0:3129', peerAddress: 'http://10.0.0.2:3129' }).peers?.address).toBe(
    'http://10.0.0.2:3129',
  );
  expect(problemOf({ natsCert: file('cert', 'x') })).toContain('--nats-cert and --nats-key belong together');
  expect(problemOf({ natsCreds: join(folder, 'none') })).toMatch(/--nats: cannot read .*none: ENOENT/);
  expect(problemOf({ natsFleet: 'a.b' })).toContain('--nats-fleet: expected the name of a fleet');
  expect(problemOf({ nats: 'http://10.0.0.5' })).toContain(
    '--nats: Cannot use the address of a NATS server: expected nats://host:port',
  );
});

test('settings of NATS need a restart, and have no effect without a server', () => {
  expect(settingsForRestart(load({}), load({ natsFleet: 'other' }))).toEqual(['nats']);
  expect(loadConfig({ flags: { natsFleet: 'prod' } }).warnings).toEqual([
    'natsFleet has no effect without --nats',
  ]);
});

test('--group needs --nats and a name, and is printed, and changed by a restart', () => {
  expect(load({ group: 'rack-1' }).peers?.group).toEqual({
    name: 'rack-1',
    patienceMs: 30_000,
    isFinding: false,
  });
  const config = load({ group: 'rack-1', groupPatience: '3s' });
  expect(JSON.parse(printConfig(config))).toMatchObject({
    group: 'rack-1',
    groupPatience: '3s',
    groupFind: false,
  });
  const finding = load({ group: 'rack-1', groupFind: true });
  expect(finding.peers?.group?.isFinding).toBe(true);
  expect(JSON.parse(printConfig(finding))).toMatchObject({ groupFind: true });
  expect(load({ groupFind: true }).warnings).toEqual(['groupFind has no effect without --group']);
  expect(settingsForRestart(config, load({ group: 'rack-2' }))).toEqual(['group', 'groupPatience']);
  expect(load({}).peers?.group).toBe(null);
  expect(load({ groupPatience: '3s' }).warnings).toEqual(['groupPatience has no effect without --group']);
  expect(problemOf({ group: 'Rack 1' })).toContain(
    'expected the name of a group: up to 32 of a-z, 0-9 and -',
  );
  expect(problemOf({ group: 'rack-1', groupPatience: '10ms' })).toContain('--group-patience: expected 1s');
  expect(problemOf({ group: 'rack-1', nats: undefined, peer: ['http://10.0.0.3:3129'] })).toContain(
    '--group needs --nats',
  );
});
