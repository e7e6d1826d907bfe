import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { afterAll, describe, expect, it } from 'vitest';
import { configProblems } from '../../../test/node/config-problems.ts';
import { LIMIT_NAMES } from '../../safety/limits.ts';
import { formatDuration, formatSize, parseDuration, parseSize } from './amounts.ts';
import { nearestName } from './nearest-name.ts';
import { loadConfig, type NodeConfig, printConfig } from './node-config.ts';
import { environmentName, SETTINGS } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const withFlags = (flags: Record<string, unknown>): NodeConfig => loadConfig({ flags });

describe('sizes and durations', () => {
  it('are read as they are written', () => {
    expect(['512MB', '2GiB', '1.5k', '64 KiB', '100', '1_000kB', '3tb'].map(parseSize)).toEqual([
      512e6,
      2 * 1024 ** 3,
      1500,
      65536,
      100,
      1e6,
      3e12,
    ]);
    expect(['500ms', '30s', '1.5h', '2d', '5min', '5m'].map(parseDuration)).toEqual([
      500, 30_000, 5_400_000, 172_800_000, 300_000, 300_000,
    ]);
  });

  it('are refused when they are something else', () => {
    for (const text of ['', 'MB', '12 apples', '-1MB', '1e9', '0x10', '1MBB', '9999999999TB']) {
      expect(parseSize(text), text).toBeUndefined();
    }
    for (const text of ['30', '', 's', '-1s', '1 week']) expect(parseDuration(text), text).toBeUndefined();
  });

  it('come back as the same number', () => {
    for (const bytes of [0, 1, 999, 1000, 1024, 256e6, 1024 ** 3, 123_456_789])
      expect(parseSize(formatSize(bytes))).toBe(bytes);
    for (const ms of [0, 1, 999, 1000, 90_000, 86_400_000])
      expect(parseDuration(formatDuration(ms))).toBe(ms);
  });
});

describe('names that do not exist', () => {
  it('find the nearest that does', () => {
    const names = SETTINGS.map(({ key }) => key);
    expect(nearestName('memroy', names)).toBe('memory');
    expect(nearestName('disk-size', names)).toBe('diskSize');
    expect(nearestName('allowclients', names)).toBe('allowClient');
    expect(nearestName('zzz', names)).toBeUndefined();
  });
});

describe('sources', () => {
  it('give defaults', () => {
    const config = loadConfig();
    expect(config).toMatchObject({
      name: null,
      listen: [{ host: '127.0.0.1', port: 3128, secure: false }],
      listenDefaulted: true,
      forward: true,
      upstreams: [],
      connectPorts: [443],
      memoryBytes: 256e6,
      allowClients: ['127.0.0.0/8', '::1/128'],
      adminClients: ['127.0.0.0/8', '::1/128'],
      workers: 1,
      accessLog: null,
      shutdownMs: 30_000,
      tls: null,
    });
    expect(config.disk?.folder).toMatch(/bloomery\/http$/);
  });

  it('the stronger one wins: flags, environment, file, defaults', () => {
    const path = file('a.json', { memory: '1GB', name: 'of-file', workers: 2, connectPorts: [443, 8443] });
    const environment = {
      BLOOMERY_CACHE_NAME: 'of-environment',
      BLOOMERY_CACHE_WORKERS: '3',
      PATH: 'whatever',
    };
    const config = loadConfig({ file: path, environment, flags: { workers: '4' } });
    expect([config.memoryBytes, config.name, config.workers, config.connectPorts]).toEqual([
      1e9,
      'of-environment',
      4,
      [443, 8443],
    ]);
  });

  it('lists in the environment are separated by blanks or commas', () => {
    const environment = {
      BLOOMERY_CACHE_LISTEN: '127.0.0.1:1 [::1]:2',
      BLOOMERY_CACHE_ALLOW_CLIENT: '10.0.0.0/8,loopback',
    };
    const config = loadConfig({ environment });
    expect(config.listen.map(({ host, port }) => `${host} ${port}`)).toEqual(['127.0.0.1 1', '::1 2']);
    expect(config.allowClients).toEqual(['10.0.0.0/8', '127.0.0.0/8', '::1/128']);
  });

  it('an empty variable is none, and a byte order mark before the file is passed over', () => {
    const environment = {
      BLOOMERY_CACHE_LISTEN: '',
      BLOOMERY_CACHE_ALLOW_CLIENT: ' ',
      BLOOMERY_CACHE_DISK: '',
    };
    expect(loadConfig({ environment })).toEqual(loadConfig());
    expect(loadConfig({ file: file('bom.json', '\uFEFF{ "name": "marked" }') }).name).toBe('marked');
  });

  it('file names in the file are meant from its folder', () => {
    const path = file('b.json', { disk: 'here', accessLog: 'access.log' });
    const config = loadConfig({ file: path });
    expect(config.disk?.folder).toBe(join(folder, 'here'));
    expect(config.accessLog).toBe(join(folder, 'access.log'));
  });

  it('what is printed gives the same node again', () => {
    const config = withFlags({
      listen: ['127.0.0.1:0', 'http://[::1]:8080'],
      upstream: ['/a=https://origin.example/base/', '/b/=http://10.0.0.1:81'],
      forward: true,
      memory: '100MB',
      disk: join(folder, 'disk'),
      diskSize: '1GiB',
      allowClient: ['all'],
      limits: ['connections=1000', 'originHeadTimeoutMs=20s', 'urlBytes=4KiB'],
      targetedFields: 'none',
      logFormat: 'json',
      accessLog: '-',
      heuristicFraction: '0.2',
    });
    const again = loadConfig({ file: file('printed.json', printConfig(config)) });
    // Now they are chosen by a setting.
    expect(again).toEqual({ ...config, listenDefaulted: false, diskDefaulted: false });
    expect(again.limits).toMatchObject({ connections: 1000, originHeadTimeoutMs: 20_000, urlBytes: 4096 });
  });

  it('--no-disk is no disk', () => {
    expect(withFlags({ disk: false }).disk).toBeNull();
    expect(loadConfig({ file: file('c.json', { disk: false }) }).disk).toBeNull();
  });

  it('an open proxy is told to be one', () => {
    expect(withFlags({ allowClient: ['all'] }).warnings.join()).toMatch(
      /every client that reaches this node/,
    );
    expect(withFlags({ allowClient: ['10.0.0.0/8'] }).warnings).toEqual([]);
  });
});

describe('problems', () => {
  const missing = join(folder, 'missing.pem');
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['a size', { memory: '12 apples' }, /^--memory: expected a size such as 512MB or 2GiB, got "12 apples"$/],
    ['a small size', { memory: '1kB' }, /^--memory: expected 1MB to 1TB, got "1kB"$/],
    [
      'a duration without a unit',
      { shutdownTimeout: '30' },
      /^--shutdown-timeout: expected a duration with its unit, such as 500ms, 30s or 2h, got "30"$/,
    ],
    [
      'an address',
      { listen: ['localhost'] },
      /^--listen: expected an address and a port such as .* got "localhost"$/,
    ],
    ['a host name to listen on', { listen: ['example.org:80'] }, /^--listen: expected an address/],
    ['a port', { listen: ['127.0.0.1:70000'] }, /^--listen: expected an address/],
    [
      'the same address twice',
      { listen: ['127.0.0.1:1', '127.0.0.1:1'] },
      /^127.0.0.1:1 is listened on twice$/,
    ],
    [
      'TLS without a certificate',
      { listen: ['https://127.0.0.1:1'] },
      /^https:\/\/127.0.0.1:1 needs --tls-cert and --tls-key$/,
    ],
    ['a certificate without its key', { tlsCert: missing }, /^--tls-cert needs --tls-key as well/],
    ['a key without its certificate', { tlsKey: missing }, /^--tls-key needs --tls-cert as well/],
    [
      'an upstream without origin',
      { upstream: ['/a'] },
      /^--upstream: expected \/prefix=https:\/\/origin.example\/, got "\/a", which names no origin$/,
    ],
    ['an upstream that is no URL', { upstream: ['/a=origin'] }, /^--upstream: expected .* which is no URL$/],
    [
      'an upstream of another scheme',
      { upstream: ['/a=ftp://h/'] },
      /^--upstream: .* only http and https can be asked$/,
    ],
    [
      'a password in an upstream',
      { upstream: ['/a=http://u:secret@h/'] },
      /^--upstream: (?!.*secret).* got an origin with a user or password in it$/,
    ],
    [
      'an upstream with a query',
      { upstream: ['/a=http://h/?x'] },
      /^--upstream: .* with a query or fragment$/,
    ],
    [
      'the prefix of the admin endpoints',
      { upstream: ['/.bloomery/x=http://h/'] },
      /^--upstream: the prefix \/.bloomery is for status and metrics/,
    ],
    ['a prefix twice', { upstream: ['/a=http://h/', '/a=http://i/'] }, /^the prefix \/a has two upstreams/],
    ['nothing to do', { forward: false }, /^nothing to do: a node needs an --upstream, or --forward$/],
    [
      'a network',
      { allowClient: ['everybody'] },
      /^--allow-client: Cannot read an address range: .* got "everybody"$/,
    ],
    [
      'bits beyond a prefix',
      { allowClient: ['10.1.2.3/8'] },
      /^--allow-client: Cannot read the address range "10.1.2.3\/8": expected 10.0.0.0\/8 or .* beyond the prefix$/,
    ],
    ['ports', { connectPorts: '443,https' }, /^--connect-ports: expected a whole number, got "https"$/],
    ['a port beyond', { connectPorts: '0' }, /^--connect-ports: expected ports from 1 to 65535, got "0"$/],
    ['workers', { workers: '0' }, /^--workers: expected 1 to 64, got "0"$/],
    ['a level', { logLevel: 'loud' }, /^--log-level: expected one of debug, info, warn, error, got "loud"$/],
    ['a name', { name: 'two words' }, /^--name: expected a name of letters/],
    [
      'a fraction',
      { heuristicFraction: '2' },
      /^--heuristic-fraction: expected a number from 0 to 1, got "2"$/,
    ],
    ['a switch', { allowPrivate: 'maybe' }, /^--allow-private: expected true or false, got "maybe"$/],
    [
      'an unknown limit',
      { limits: ['conections=5'] },
      /^--limit: unknown limit "conections". Did you mean connections\?$/,
    ],
    [
      'a limit without a value',
      { limits: ['connections'] },
      /^--limit: expected connections=a whole number, got nothing$/,
    ],
    [
      'a limit out of range',
      { limits: ['connections=0'] },
      /^--limit: Cannot set limit connections: expected 1 to 1000000 \(count\), got 0$/,
    ],
    [
      'a limit of another kind',
      { limits: ['headTimeoutMs=5MB'] },
      /^--limit: expected headTimeoutMs=a duration such as 30s, got "5MB"$/,
    ],
    ['an unknown flag', { memroy: '1GB' }, /^unknown option memroy. Did you mean memory\?$/],
    [
      'a host name',
      { adminHost: ['a b'] },
      /^--admin-host: expected a host name without its port, got "a b"$/,
    ],
    [
      'a field name',
      { targetedFields: 'a b' },
      /^--targeted-fields: expected the name of a header field, got "a b"$/,
    ],
  ];

  it.each(cases)('%s', (_what, flags, message) => {
    const problems = configProblems(() => withFlags(flags));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
  });

  it('files that cannot be read name themselves', () => {
    const problems = configProblems(() => withFlags({ tlsCert: missing, tlsKey: missing }));
    expect(problems).toEqual([
      `--tls-cert: cannot read ${missing}: ENOENT`,
      `--tls-key: cannot read ${missing}: ENOENT`,
    ]);
  });

  it('a key that does not belong to the certificate is found', () => {
    for (const name of ['one', 'two']) selfSigned(folder, name);
    expect(
      configProblems(() => withFlags({ tlsCert: join(folder, 'one.pem'), tlsKey: join(folder, 'one.key') })),
    ).toEqual([]);
    const [problem] = configProblems(() =>
      withFlags({ tlsCert: join(folder, 'one.pem'), tlsKey: join(folder, 'two.key') }),
    );
    expect(problem).toMatch(/one.pem and the key .*two.key cannot be used: /);
  });

  it('authorities that cannot be read, or are none', () => {
    const plain = file('plain.pem', 'no certificate');
    expect(configProblems(() => withFlags({ originCa: missing }))).toEqual([
      `--origin-ca: cannot read ${missing}: ENOENT`,
    ]);
    expect(configProblems(() => withFlags({ originCa: plain }))).toEqual([
      expect.stringContaining(`--origin-ca: expected certificates (PEM) in ${plain}: `),
    ]);
    expect(configProblems(() => withFlags({ originCa: selfSigned(folder, 'authority').cert }))).toEqual([]);
  });

  it('all are told at once', () => {
    const problems = configProblems(() => withFlags({ memory: 'x', workers: 'y', logLevel: 'z' }));
    expect(problems).toHaveLength(3);
    expect(() => withFlags({ memory: 'x', workers: 'y' })).toThrow(
      /^2 settings are wrong:\n {2}--memory: .*\n {2}--workers: /,
    );
  });

  it('of a file: no JSON, no object, unknown names, wrong values', () => {
    const of = (content: unknown) => configProblems(() => loadConfig({ file: file('bad.json', content) }))[0];
    expect(of('{ "memory": ')).toMatch(/bad.json: expected JSON: /);
    expect(of([1])).toMatch(/bad.json: expected a JSON object of settings, got a list$/);
    expect(of({ 'disk-size': '1GB' })).toMatch(
      /bad.json: unknown setting "disk-size". Did you mean diskSize\?$/,
    );
    expect(of({ memory: true })).toMatch(
      /bad.json: memory: expected a size such as 512MB or 2GiB, got true$/,
    );
    expect(of('"text"')).toMatch(/bad.json: expected a JSON object of settings, got "text"$/);
    for (const none of [[], 'none'])
      expect(of({ listen: none })).toMatch(/bad.json: listen: expected at least 1, got (\[\]|"none")$/);
    expect(of({ disk: true })).toMatch(
      /bad.json: disk: expected the name of a file or folder, or false for none, got true$/,
    );
    expect(of({ workers: [2] })).toMatch(/bad.json: workers: expected a whole number, got \[2\]$/);
    expect(of({ heuristicFraction: [0.5] })).toMatch(/: expected a number from 0 to 1, got \[0.5\]$/);
    expect(of({ limits: { nonsense: 1 } })).toMatch(/bad.json: limits: unknown limit "nonsense".$/);
    expect(of({ upstream: { '/a': 'nowhere' } })).toMatch(/bad.json: upstream: .* which is no URL$/);
    expect(() => loadConfig({ file: join(folder, 'none.json') })).toThrow(/ENOENT/);
  });

  it('of the environment: unknown names, wrong values', () => {
    const of = (environment: Record<string, string>) => configProblems(() => loadConfig({ environment }));
    expect(of({ BLOOMERY_CACHE_MEMROY: '1GB' })).toEqual([
      'the environment has BLOOMERY_CACHE_MEMROY, which is no setting. Did you mean BLOOMERY_CACHE_MEMORY?',
    ]);
    expect(of({ BLOOMERY_CACHE_MEMORY: 'x' })[0]).toMatch(/^BLOOMERY_CACHE_MEMORY: expected a size/);
  });
});

describe('the tables of settings in the guides', () => {
  const cache = settingRows('cache.md');
  const fleet = settingRows('fleet.md');

  it('cache.md has every setting with its flag, its name, its default and whether it needs a restart', () => {
    for (const { flag, key, placeholder, initial, live } of SETTINGS) {
      const [flags, name, standard, text] = cache.get(flag) ?? [];
      expect(flags, flag).toMatch(placeholder === undefined ? /^`/ : ` ${placeholder.toUpperCase()}`);
      expect(name, flag).toBe(`\`${key}\``);
      expect(standard, flag).toContain(initial);
      expect(text!.includes('↻'), `${flag} is marked`).toBe(!live);
    }
  });

  it('fleet.md has every setting of a fleet, with the flag and the default of cache.md', () => {
    const ofFleet = SETTINGS.filter(({ key }) => /^(?:peer|nats|group)/.test(key) || key === 'share');
    expect([...fleet.keys()].sort()).toEqual(ofFleet.map(({ flag }) => flag).sort());
    for (const [flag, [flags, standard]] of fleet) {
      const [sameFlags, , sameStandard] = cache.get(flag)!;
      expect([flags, standard], flag).toEqual([sameFlags, sameStandard]);
    }
  });

  it('neither has a setting that does not exist', () => {
    const known = new Set(SETTINGS.map(({ flag }) => flag));
    expect([...cache.keys(), ...fleet.keys()].filter((flag) => !known.has(flag))).toEqual([]);
  });
});

describe('docs/guide/cache.md', () => {
  const guide = guidePage('cache.md');

  it('names a variable of the environment', () => {
    expect(guide).toContain(environmentName(SETTINGS[0]));
  });

  it('has every limit', () => {
    for (const name of LIMIT_NAMES) expect(guide, name).toContain(`\`${name}\``);
  });
});

function guidePage(name: string): string {
  return readFileSync(new URL(`../../../../../docs/guide/${name}`, import.meta.url), 'utf8');
}

/** The cells of the rows that begin with a flag, by that flag. */
function settingRows(page: string): Map<string, string[]> {
  const rows = guidePage(page).matchAll(/^\| `--([a-z-]+)`.*$/gm);
  return new Map(
    [...rows].map(([row, flag]) => [
      flag!,
      row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ]),
  );
}
