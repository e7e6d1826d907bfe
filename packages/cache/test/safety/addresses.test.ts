/**
 * Addresses that are open and addresses that are shut, in every spelling, and that the socket goes
 * only where the guard looked.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, BlockList, connect, isIP } from 'node:net';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AddressGuard, AddressRefusedError } from '../../src/safety/address-guard.ts';
import { cidrContains, parseCidr } from '../../src/safety/cidr.ts';
import { ClientGuard } from '../../src/safety/client-guard.ts';
import { guardedConnector, guardedSocket } from '../../src/safety/guarded-connect.ts';
import { formatAddress, parseAddress, parseHostLiteral } from '../../src/safety/ip-address.ts';
import { SPECIAL_RANGES } from '../../src/safety/special-ranges.ts';

const strict = new AddressGuard({ allowPrivate: false, allow: [], deny: [] });
const friendly = new AddressGuard({ allowPrivate: true, allow: [], deny: [] });

describe('ranges', () => {
  it('agree with net.BlockList on random addresses and prefixes', () => {
    const random = seeded(7);
    const word = () => Math.floor(random() * 2 ** 32);
    for (let i = 0; i < 3000; i++) {
      const family = random() < 0.5 ? 4 : 6;
      const width = family === 4 ? 32 : 128;
      const prefix = Math.floor(random() * (width + 1));
      const words = Array.from({ length: width / 32 }, word);
      // The base is the address with the bits beyond the prefix cleared.
      const base = words.map((each, at) => {
        const bits = Math.min(Math.max(prefix - 32 * at, 0), 32);
        return bits === 0 ? 0 : (each & (0xffffffff << (32 - bits))) >>> 0;
      });
      // Near misses: one bit of the address turned.
      const bit = Math.floor(random() * width);
      const other = words.map((each, at) =>
        at === bit >> 5 ? (each ^ (1 << (31 - (bit & 31)))) >>> 0 : each,
      );
      const list = new BlockList();
      const type = family === 4 ? 'ipv4' : 'ipv6';
      list.addSubnet(formatAddress({ family, words: base }), prefix, type);
      const cidr = parseCidr(`${formatAddress({ family, words: base })}/${prefix}`);
      for (const candidate of [words, other]) {
        const text = formatAddress({ family, words: candidate });
        expect(isIP(text)).toBe(family);
        expect(parseAddress(text)).toEqual({ family, words: candidate });
        expect(cidrContains(cidr, { family, words: candidate }), `${text} in /${prefix}`).toBe(
          list.check(text, type),
        );
      }
    }
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/0x8',
    '10.1.0.0/8',
    '10.0.0/8',
    '::/129',
    'fe80::1%eth0/64',
    '2001:db8::1/32',
    'localhost',
    '',
    '::ffff:10.0.0.0/8',
    ' 10.0.0.0/8',
  ])('refuse %j', (text) => expect(() => parseCidr(text)).toThrow(RangeError));

  it('read mapped ranges as IPv4', () => {
    expect(parseCidr('::ffff:10.0.0.0/104')).toEqual(parseCidr('10.0.0.0/8'));
  });
});

describe('spellings', () => {
  it.each([
    ['127.1', '127.0.0.1'],
    ['127.0.1', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['0X7F.0x0.0.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['127.65535', '127.0.255.255'],
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['[::ffff:127.0.0.1]', '127.0.0.1'],
    ['[::ffff:7f00:1]', '127.0.0.1'],
    ['[0:0:0:0:0:ffff:127.0.0.1]', '127.0.0.1'],
    ['8.8.8.8', '8.8.8.8'],
  ])('%s is %s', (text, address) => {
    const parsed = parseHostLiteral(text);
    expect(parsed !== null && parsed !== 'invalid' && formatAddress(parsed)).toBe(address);
    // What the URL standard makes of it, as far as it takes it.
    const url = new URL(`http://${text.includes(':') && !text.startsWith('[') ? `[${text}]` : text}/`)
      .hostname;
    const again = parseHostLiteral(url);
    expect(again).toEqual(parsed);
  });

  it.each([
    '1.2.3.4.5',
    '256.1.1.1',
    '1.2.3.256',
    '4294967296',
    '0x100000000',
    '08.1.1.1',
    '1..1',
    '.1',
    'a.1',
    '[::1',
    '[::g]',
    '1:2',
    '[]',
    'x.0x',
  ])('%s is neither a name nor an address', (text) => expect(parseHostLiteral(text)).toBe('invalid'));

  it.each([
    'localhost',
    'localhost.',
    'example.com',
    '1.example',
    'a1',
    '0x7f.example',
    'xn--e1afmkfd',
    'dead.beef',
  ])('%s is a name', (text) => expect(parseHostLiteral(text)).toBe(null));
});

const shut = [
  '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.255',
  '169.254.169.254', '169.254.0.1', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1',
  '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1',
  '255.255.255.255', '168.63.129.16', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:a00:1', '64:ff9b::7f00:1',
  '64:ff9b::10.0.0.1', '64:ff9b::169.254.169.254', '64:ff9b:1::8.8.8.8', '100::1', '100:0:0:1::1', '2001:2::1',
  '2001:10::1', '2001:20::1', '2001:db8::1', '2001:1ff::1', '2002:7f00:1::', '2002:a00:1::1', '2002:a9fe:a9fe::',
  // Teredo: the client 127.0.0.1 behind a public server, and a private server.
  '2001:0:808:808:0:0:80ff:fffe', '2001:0:a00:1::f7f7:f7f7', '2600::5efe:10.0.0.1', '2600::200:5efe:127.0.0.1',
  '3fff::1', '3fff:fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fdff::1', 'fe80::1', 'fe80::1%eth0', 'febf::1',
  'fec0::1', 'ff02::1', '4000::1', '8000::1', '1::1', 'not an address', '', '127.1', '8.8.8.8.',
]; // biome-ignore format: a table
const open = [
  '1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0',
  '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255', '192.169.0.0',
  '198.17.255.255', '198.20.0.0', '223.255.255.255', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::1',
  '2001:0:808:808:0:0:f7f7:f7f7', '2001:200::1', '2606:4700::1111', '2a00:1450::1', '3ffe::1', '2600::5efe:8.8.8.8',
]; // biome-ignore format: a table

describe('the address guard', () => {
  it.each(shut.map((each) => [each]))('shuts %j', (address) => {
    expect(strict.allows(address)).toBe(false);
    expect(strict.whyNot(address)).toMatch(/ is /);
  });

  it.each(open.map((each) => [each]))('opens %s', (address) => expect(strict.whyNot(address)).toBe(null));

  it('shuts the first and last address of every special range, and its neighbours only by another one', () => {
    for (const { range, what } of SPECIAL_RANGES) {
      const width = range.family === 4 ? 32 : 128;
      const last = range.words.map((word, i) => {
        const bits = Math.min(Math.max(range.prefix - 32 * i, 0), 32);
        return bits === 32 ? word : (word | (0xffffffff >>> bits)) >>> 0;
      });
      for (const words of [range.words, last]) {
        const text = formatAddress({ family: range.family, words });
        // Teredo addresses lie in the protocol assignments and are judged by what they carry:
        // 0.0.0.0 here.
        expect(strict.allows(text), `${text} of /${range.prefix} of ${width}: ${what}`).toBe(false);
      }
    }
  });

  it('allowPrivate opens private networks, and never link-local, metadata, multicast or unspecified addresses', () => {
    for (const address of [
      '127.0.0.1',
      '::1',
      '10.1.2.3',
      '192.168.0.1',
      '172.20.0.1',
      '100.64.0.1',
      'fd12::1',
      '::ffff:10.0.0.1',
    ]) {
      expect(friendly.whyNot(address)).toBe(null);
    }
    for (const address of [
      '169.254.169.254',
      '169.254.1.1',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      'fd00:ec2::254',
      '100.100.100.200',
      '0.0.0.0',
      '::',
      '224.0.0.1',
      'fe80::1',
      '255.255.255.255',
    ]) {
      expect(friendly.allows(address), address).toBe(false);
    }
  });

  it('deny beats allow, allow beats the special ranges, and both see through embedded addresses', () => {
    const guard = new AddressGuard({
      allowPrivate: false,
      allow: ['10.0.0.0/8', '169.254.169.254'],
      deny: ['10.9.0.0/16', '8.8.8.0/24', '2606:4700::/32'],
    });
    expect(guard.allows('10.1.1.1')).toBe(true);
    expect(guard.allows('169.254.169.254')).toBe(true);
    expect(guard.allows('169.254.169.253')).toBe(false);
    expect(guard.allows('10.9.1.1')).toBe(false);
    expect(guard.allows('::ffff:10.9.1.1')).toBe(false);
    expect(guard.allows('64:ff9b::8.8.8.8')).toBe(false);
    expect(guard.allows('64:ff9b::10.1.1.1')).toBe(true);
    expect(guard.allows('2606:4700::1')).toBe(false);
    expect(guard.allows('9.9.9.9')).toBe(true);
  });

  it('refuses its own listeners by port, also those on all addresses', () => {
    const guard = new AddressGuard({ allowPrivate: true, allow: ['0.0.0.0/0'], deny: [] });
    guard.addListener({ address: '127.0.0.1', port: 8080 });
    guard.addListener({ address: '::', port: 9090 });
    expect(guard.allows('127.0.0.1', 8080)).toBe(false);
    expect(guard.allows('::ffff:127.0.0.1', 8080)).toBe(false);
    expect(guard.allows('127.0.0.1', 8081)).toBe(true);
    expect(guard.allows('127.0.0.2', 8080)).toBe(true);
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '0.0.0.0', '::ffff:127.0.0.1', '::']) {
      expect(guard.allows(address, 9090), address).toBe(false);
    }
    expect(guard.checkHost('2130706433', 9090)?.message).toMatch(/127\.0\.0\.1:9090 is this cache itself/);
    expect(guard.allows('127.0.0.1', 9091)).toBe(true);
  });

  it('judges hosts as they are written', () => {
    for (const host of [
      '127.1',
      '0x7f.1',
      '2130706433',
      '0177.0.0.1',
      '[::1]',
      '::1',
      '127.0.0.1.',
      '[::ffff:7f00:1]',
      '1.2.3.4.5',
      '[fe80::1%eth0]',
    ]) {
      const error = strict.checkHost(host);
      expect(error, host).toBeInstanceOf(AddressRefusedError);
      expect(error?.code).toBe('ADDRESS_REFUSED');
      expect(error?.message).toMatch(/^Cannot connect to ".+": /);
    }
    expect(strict.checkHost('8.8.8.8')).toBe(null);
    expect(strict.checkHost('localhost')).toBe(null);
  });
});

describe('lookup', () => {
  const ask = (guard: AddressGuard, host: string, options: object) =>
    new Promise<unknown[]>((resolve) => guard.lookup(host, options, (...result) => resolve(result)));

  const answering = (...answers: string[][]) => {
    let turn = 0;
    return new AddressGuard({
      allowPrivate: false,
      allow: [],
      deny: [],
      resolve: (_host, _options, callback) => {
        const answer = answers[Math.min(turn++, answers.length - 1)]!;
        callback(
          null,
          answer.map((address) => ({ address, family: isIP(address) })),
        );
      },
    });
  };

  it('refuses a real name of this machine, in both forms', async () => {
    for (const all of [true, false]) {
      const [error] = await ask(strict, 'localhost', { all });
      expect(error).toMatchObject({ code: 'ADDRESS_REFUSED', name: 'AddressRefusedError' });
      expect((error as Error).message).toMatch(/^Cannot connect to "localhost": .* loopback/);
    }
  });

  it('refuses what the system takes for a number', async () => {
    for (const host of ['127.1', '0x7f.1', '2130706433', '0177.0.0.1']) {
      expect((await ask(strict, host, { all: true }))[0]).toMatchObject({ code: 'ADDRESS_REFUSED' });
    }
  });

  it('gives what may be reached, in the form asked for', async () => {
    const [error, addresses] = await ask(friendly, 'localhost', { all: true });
    expect(error).toBe(null);
    expect(addresses).toContainEqual({ address: '127.0.0.1', family: 4 });
    expect(await ask(friendly, 'localhost', { family: 4 })).toEqual([null, '127.0.0.1', 4]);
  });

  it('leaves out the addresses that are shut', async () => {
    const guard = answering(['10.0.0.1', '8.8.8.8', '::1', '2606:4700::1']);
    const both = [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ];
    expect(await ask(guard, 'mixed.example', { all: true })).toEqual([null, both]);
    expect(await ask(guard, 'mixed.example', {})).toEqual([null, '8.8.8.8', 4]);
  });

  it('refuses an empty answer, and hands on errors', async () => {
    expect((await ask(answering([]), 'empty.example', { all: true }))[0]).toMatchObject({
      code: 'ADDRESS_REFUSED',
    });
    const failing = new AddressGuard({
      allowPrivate: false,
      allow: [],
      deny: [],
      resolve: (_h, _o, callback) =>
        callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []),
    });
    expect((await ask(failing, 'none.example', { all: true }))[0]).toMatchObject({ code: 'ENOTFOUND' });
  });

  it('a name that changes its mind gains nothing: each answer is judged', async () => {
    const guard = answering(['8.8.8.8'], ['127.0.0.1']);
    expect((await ask(guard, 'rebind.example', {}))[1]).toBe('8.8.8.8');
    expect((await ask(guard, 'rebind.example', {}))[0]).toMatchObject({ code: 'ADDRESS_REFUSED' });
  });
});

describe('connections', () => {
  let hits = 0;
  const server = createServer((_req, res) => {
    hits++;
    res.end('reached');
  });
  let port: number;
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const fetchBy = async (guard: AddressGuard, host: string) => {
    const agent = new Agent({ connect: guardedConnector(guard, { timeout: 2000 }) });
    try {
      const answer = await request(`http://${host}:${port}/`, { dispatcher: agent });
      return await answer.body.text();
    } finally {
      await agent.destroy();
    }
  };

  it.each([
    '127.0.0.1',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '[::1]',
  ])('undici does not reach %s', async (host) => {
    hits = 0;
    await expect(fetchBy(strict, host)).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(hits).toBe(0);
  });

  it('undici reaches what is open, by name and by address', async () => {
    expect(await fetchBy(friendly, 'localhost')).toBe('reached');
    expect(await fetchBy(friendly, '127.0.0.1')).toBe('reached');
  });

  it('does not reach itself, however it is called', async () => {
    const guard = new AddressGuard({ allowPrivate: true, allow: [], deny: [] });
    guard.addListener({ address: '127.0.0.1', port });
    hits = 0;
    // The name passes `checkHost` and `lookup`, which know no port: the socket is judged before
    // anything is sent.
    for (const host of ['127.0.0.1', 'localhost', '127.1']) {
      await expect(fetchBy(guard, host)).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
    }
    expect(hits).toBe(0);
  });

  const socketTo = (guard: AddressGuard, host: string, to = port) =>
    new Promise<string>((resolve) => {
      guardedSocket(guard, { host, port: to, timeoutMs: 2000 }, (error, socket) => {
        socket?.destroy();
        resolve(error === null ? 'connected' : ((error as NodeJS.ErrnoException).code ?? error.message));
      });
    });

  it('tunnels go the same way', async () => {
    expect(await socketTo(strict, 'localhost')).toBe('ADDRESS_REFUSED');
    expect(await socketTo(strict, '127.0.0.1')).toBe('ADDRESS_REFUSED');
    expect(await socketTo(strict, '[::1]')).toBe('ADDRESS_REFUSED');
    expect(await socketTo(friendly, 'localhost')).toBe('connected');
    const guard = new AddressGuard({ allowPrivate: true, allow: [], deny: [] });
    guard.addListener({ address: '0.0.0.0', port });
    expect(await socketTo(guard, 'localhost')).toBe('ADDRESS_REFUSED');
    expect(await socketTo(friendly, '127.0.0.1', 1)).toBe('ECONNREFUSED');
  });

  it('a literal address never comes to lookup: why the host is asked first', async () => {
    let asked = false;
    const socket = connect({ host: '127.0.0.1', port, lookup: () => (asked = true) });
    await once(socket, 'connect');
    socket.destroy();
    expect(asked).toBe(false);
  });
});

describe('the client guard', () => {
  it('serves only this machine unless told otherwise', () => {
    const guard = new ClientGuard();
    for (const address of ['127.0.0.1', '127.5.5.5', '::1', '::ffff:127.0.0.1'])
      expect(guard.allows(address)).toBe(true);
    for (const address of ['10.0.0.1', '8.8.8.8', '::2', '::ffff:10.0.0.1', 'localhost', '', undefined]) {
      expect(guard.allows(address)).toBe(false);
    }
  });

  it('goes by its ranges', () => {
    const guard = new ClientGuard({ allow: ['10.0.0.0/8', 'fd00::/8'], deny: ['10.9.0.0/16'] });
    expect(guard.allows('10.1.1.1')).toBe(true);
    expect(guard.allows('::ffff:10.1.1.1')).toBe(true);
    expect(guard.allows('fd00::5')).toBe(true);
    expect(guard.allows('10.9.1.1')).toBe(false);
    expect(guard.allows('127.0.0.1')).toBe(false);
    expect(new ClientGuard({ allow: [] }).allows('127.0.0.1')).toBe(false);
    expect(() => new ClientGuard({ allow: ['everyone'] })).toThrow(RangeError);
  });

  it('gives the same answers when it has forgotten', () => {
    const guard = new ClientGuard({ allow: ['10.0.0.0/9'] });
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 5000; i++) expect(guard.allows(`10.${i % 256}.${i >> 8}.1`)).toBe(i % 256 < 128);
    }
  });
});

function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
