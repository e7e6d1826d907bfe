import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { configProblems } from '../../../test/node/config-problems.ts';
import { loadConfig, type NodeConfig, printConfig } from './node-config.ts';
import { readPeerSecrets } from './peer-secret.ts';
import { settingsForRestart, withoutRestart } from './reload-rules.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-peers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Uint8Array, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const secret = file('secret', 'correct horse battery staple\n');
const fleet = (flags: Record<string, unknown>): NodeConfig =>
  loadConfig({ flags: { peerSecret: secret, peerListen: '127.0.0.1:3129', ...flags } });
const problemsOf = (flags: Record<string, unknown>) => configProblems(() => fleet(flags));

describe('settings for neighbours', () => {
  test('a node without peers has none, and one with them has the defaults', () => {
    expect(loadConfig().peers).toBeNull();
    const { peers, warnings } = fleet({
      peer: ['10.0.0.2:3129', 'https://[fd00::2]:3129/', 'http://b.internal:80'],
    });
    expect(peers).toEqual({
      peers: ['http://10.0.0.2:3129', 'https://[fd00::2]:3129', 'http://b.internal:80'],
      dns: [],
      dnsServers: [],
      nats: null,
      multicast: null,
      group: null,
      address: null,
      listen: { host: '127.0.0.1', port: 3129, secure: false },
      secretFile: secret,
      certificates: null,
      budgetMs: 250,
      memoryBytes: 128e6,
      copiesShare: 0.1,
      share: [],
      bandwidth: 125e3,
      mode: 'single',
    });
    expect(warnings).toEqual([]);
  });

  test('are read as they are written, and printed so that they give the same node', () => {
    const config = fleet({
      peer: ['http://10.0.0.2:3129'],
      peerBudget: '100ms',
      peerMemory: '64MiB',
      peerCopies: '25%',
      peerBandwidth: '1MB',
      peerMode: 'single',
      share: ['https://cdn.example', 'http://files.example/signed/'],
    });
    expect(config.peers).toMatchObject({
      budgetMs: 100,
      memoryBytes: 64 * 1024 ** 2,
      copiesShare: 0.25,
      bandwidth: 1e6,
      share: ['https://cdn.example/', 'http://files.example/signed/'],
    });
    const again = loadConfig({ file: file('printed.json', printConfig(config)) });
    expect(again.peers).toEqual(config.peers);
    expect(fleet({ peerCopies: '0' }).peers?.copiesShare).toBe(0);
    expect(fleet({ peerCopies: 0.5 }).peers?.copiesShare).toBe(0.5);
  });

  const cases: [string, Record<string, unknown>, RegExp][] = [
    [
      'a peer without port',
      { peer: ['http://10.0.0.2'] },
      /^--peer: .* got "http:\/\/10.0.0.2", which has no port$/,
    ],
    ['a peer without brackets', { peer: ['fd00::2'] }, /^--peer: .* an IPv6 address stands in brackets$/],
    [
      'a peer of another scheme',
      { peer: ['ftp://h:1'] },
      /^--peer: .* whose scheme is neither http nor https$/,
    ],
    ['a peer with a path', { peer: ['http://h:1/x'] }, /^--peer: .* which has a path$/],
    ['a peer with port 0', { peer: ['http://h:0'] }, /^--peer: .* which is no address$/],
    ['a peer that is no address', { peer: ['http://[::g]:1'] }, /^--peer: .* which is no address$/],
    [
      'a password in a peer',
      { peer: ['http://u:pass@h:1'] },
      /^--peer: (?!.*pass@).* a user or password in it$/,
    ],
    ['a peer twice', { peer: ['h:1', 'http://h:1/'] }, /^the peer http:\/\/h:1 is given twice/],
    ['no secret', { peerSecret: false }, /^--peer-listen needs --peer-secret: a file with the secret/],
    [
      'a secret that is not there',
      { peerSecret: join(folder, 'none') },
      /^--peer-secret: cannot read .*none: ENOENT$/,
    ],
    [
      'a short secret',
      { peerSecret: file('short', ' fifteen bytes..\n\n') },
      /^--peer-secret: Cannot take the secret in .*short: expected at least 16 bytes, got 15$/,
    ],
    [
      'an address in the place of a name',
      { peersDns: ['10.0.0.1:3129'] },
      /^--peers-dns: Cannot look up members: .* which is an address; --peer takes those$/,
    ],
    [
      'a name without a port',
      { peersDns: ['caches.test'], peerListen: undefined },
      /^--peers-dns caches.test needs a port, such as caches.test:3129/,
    ],
    ...['ns.test', '10.0.0.53:0', '10.0.0.53:65536', '[10.0.0.53]:53', '[fd00::53'].map(
      (server): [string, Record<string, unknown>, RegExp] => [
        `the name server ${server}`,
        { peersDns: ['caches.test'], peersDnsServer: [server] },
        /^--peers-dns-server: expected the address of a name server/,
      ],
    ),
    ['a share', { peerCopies: 'half' }, /^--peer-copies: expected a share such as 10% or 0.1, got "half"$/],
    ['too large a share', { peerCopies: '95%' }, /^--peer-copies: expected 0 to 0.9, got "95%"$/],
    ['a mode', { peerMode: 'double' }, /^--peer-mode: expected one of single, summary-cache, got "double"$/],
    ['a budget', { peerBudget: '250' }, /^--peer-budget: expected a duration with its unit/],
    ['a prefix', { share: ['/signed/'] }, /^--share: expected a URL prefix .* got "\/signed\/"$/],
    ['a prefix with a query', { share: ['http://h/?a'] }, /^--share: .* without user and query, got/],
    [
      'a password in a prefix',
      { share: ['http://u:pass@h/'] },
      /^--share: (?!.*pass).* got one with a user in it$/,
    ],
    ['an address twice', { listen: ['127.0.0.1:3129'] }, /^127.0.0.1:3129 is listened on twice$/],
    [
      'TLS without a certificate',
      { peerListen: 'https://127.0.0.1:3129' },
      /needs --tls-cert and --tls-key$/,
    ],
  ];
  test.each(cases)('problem: %s', (_what, flags, message) => {
    const problems = problemsOf(flags);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
  });

  test('peers without a peer port need a secret, and the node says that it only asks', () => {
    const asks = { peer: ['h:1'], peerListen: undefined };
    expect(problemsOf({ ...asks, peerSecret: undefined })).toEqual([
      expect.stringMatching(/^--peer needs --peer-secret/),
    ]);
    expect(fleet(asks).peers?.listen).toBeNull();
    expect(fleet(asks).warnings).toEqual([expect.stringContaining('it has no --peer-listen')]);
  });

  test('a secret that every user can read is warned about', () => {
    const open = file('open', 'correct horse battery staple', 0o644);
    expect(fleet({ peerSecret: open }).warnings).toEqual([
      expect.stringMatching(
        /^every user of this machine can read the secret in .*open; chmod 600 ends that$/,
      ),
    ]);
  });

  test('a node leaves itself out of a list that all nodes have', () => {
    const left = (peerListen: string, peer: string) => fleet({ peerListen, peer: [peer, 'other:3129'] });
    for (const [listen, peer] of [
      ['127.0.0.1:3129', 'http://127.0.0.1:3129'],
      ['127.0.0.1:3129', 'http://localhost:3129'],
      [':3129', 'http://127.0.0.1:3129'],
      ['[::1]:3129', '[::1]:3129'],
      ['[::1]:80', 'http://[::1]:80'],
      ['127.0.0.1:3129', 'http://127.0.0.1:3128'], // the port of its clients
    ]) {
      const { peers, warnings } = left(listen, peer);
      expect(peers?.peers, `${listen} ${peer}`).toEqual(['http://other:3129']);
      expect(warnings).toEqual([expect.stringMatching(/^the peer .* is this node itself and is left out$/)]);
    }
    const outward = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4');
    if (outward !== undefined)
      expect(left('0.0.0.0:3129', `${outward.address}:3129`).peers?.peers).toEqual(['http://other:3129']);
    expect(left('127.0.0.1:3129', 'http://127.0.0.2:3129').peers?.peers).toHaveLength(2);
    expect(left('127.0.0.1:3129', 'http://127.0.0.1:3130').peers?.peers).toHaveLength(2);
  });

  test('settings without effect are warned about', () => {
    expect(loadConfig({ flags: { peerBudget: '1s', share: ['http://h/'] } }).warnings).toEqual([
      'peerBudget has no effect without --peer, --peers-dns, --nats, --peer-multicast or --peer-listen',
      'share has no effect without --peer, --peers-dns, --nats, --peer-multicast or --peer-listen',
    ]);
    expect(fleet({ peerMode: 'summary-cache', peerCopies: '5%' }).warnings).toEqual([
      'peerCopies has no effect with --peer-mode summary-cache, which keeps every copy',
    ]);
  });

  test('the neighbours of a fleet change at a reload, and how it cooperates only by a restart', () => {
    const running = fleet({ peer: ['a:1'] });
    const members = { peer: ['b:1'], peersDns: ['c.test:2'], peersDnsServer: ['10.0.0.53'] };
    const wanted = fleet({ ...members, peerBudget: '1s', logLevel: 'debug' });
    expect(settingsForRestart(running, wanted)).toEqual(['peerBudget']);
    const { peers, dns, dnsServers } = wanted.peers!;
    expect(withoutRestart(running, wanted)).toMatchObject({
      peers: { ...running.peers, peers, dns, dnsServers },
      logLevel: 'debug',
    });
    expect(settingsForRestart(running, fleet({ peer: ['a:1'] }))).toEqual([]);
    expect(settingsForRestart(loadConfig(), running)).toEqual(expect.arrayContaining(['peer', 'peerSecret']));
    expect(withoutRestart(loadConfig(), running).peers).toBeNull();
    expect(settingsForRestart(running, loadConfig())).toEqual(expect.arrayContaining(['peer', 'peerSecret']));
    expect(withoutRestart(running, loadConfig()).peers).toEqual(running.peers);
  });

  test('names in the DNS have the port of the peer port, unless they have one or are a service', () => {
    const { peers, warnings } = fleet({
      peersDns: ['caches.test', 'https://other.test:4000', '_b._tcp.test'],
      peersDnsServer: ['10.0.0.53', '10.0.0.53:5353', '[fd00::53]:5353', 'fd00::53'],
    });
    expect(peers!.dns.map(({ scheme, host, port }) => [scheme, host, port])).toEqual([
      ['http', 'caches.test', 3129],
      ['https', 'other.test', 4000],
      ['http', '_b._tcp.test', null],
    ]);
    expect(peers!.dnsServers).toHaveLength(4);
    expect(warnings).toEqual([]);
    const printed = loadConfig({
      file: file('printed.json', printConfig(fleet({ peersDns: ['a.test:1'] }))),
    });
    expect(printed.peers!.dns).toEqual(fleet({ peersDns: ['a.test:1'] }).peers!.dns);
    expect(fleet({ peersDnsServer: ['10.0.0.53'] }).warnings).toEqual([
      'peersDnsServer has no effect without --peers-dns',
    ]);
  });
});

describe('readPeerSecrets', () => {
  const textsOf = (content: string | Uint8Array) =>
    readPeerSecrets(file('secrets', content)).map((bytes) => Buffer.from(bytes).toString());

  test('takes a line without white space at both ends', () => {
    expect(textsOf('\n\t correct horse battery staple \r\n\n')).toEqual(['correct horse battery staple']);
    expect(textsOf('no line feed at the end')).toEqual(['no line feed at the end']);
    expect(textsOf('ein Schlüssel für alle')).toEqual(['ein Schlüssel für alle']);
  });

  test('takes two lines in their order', () => {
    expect(textsOf('the new secret of all\r\nthe old secret of all\r\n')).toEqual([
      'the new secret of all',
      'the old secret of all',
    ]);
  });

  test('refuses files that are no one or two secrets', () => {
    expect(() => textsOf('the new secret of all\nshort\n')).toThrow('expected at least 16 bytes, got 5');
    expect(() => textsOf(' \n ')).toThrow('expected at least 16 bytes, got 0');
    const line = 'a line that is long enough';
    expect(() => textsOf(`${line} 1\n${line} 2\n${line} 3\n`)).toThrow('expected one or two lines, got 3');
    expect(() => textsOf(`${line}\n ${line}\n`)).toThrow('expected two different lines, got one twice');
    for (const bytes of [new Uint8Array(32).fill(255), new Uint8Array(32).fill(1)])
      expect(() => textsOf(bytes)).toThrow('expected one or two lines of text, got other bytes');
  });
});
