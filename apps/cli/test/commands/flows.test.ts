import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CaptureWriter } from '@bloomery/packets/capture';
import { writeZipfCapture } from '@bloomery/testkit/captures/zipf-capture';
import { eventually, until } from '@bloomery/testkit/eventually';
import { expect, onTestFinished, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const path = join(folder, 'zipf.pcap');
const FLOWS = writeZipfCapture({ path, packets: 20_000, flows: 5000, order: 'mixed', seed: 2, ipv6: true });

/** Adds Ethernet frames of ARP, and cuts the file in the middle of its last record. */
const damaged = join(folder, 'damaged.pcap');
const arp = Buffer.alloc(16 + 60);
arp.writeUInt32LE(60, 8);
arp.writeUInt32LE(60, 12);
arp.writeUInt16BE(0x0806, 28);
writeFileSync(damaged, Buffer.concat([readFileSync(path), arp, arp.subarray(0, 40)]));

/** The same packets an hour later. */
const later = join(folder, 'later.pcap');
const moved = Buffer.from(readFileSync(path));
for (let at = 24; at < moved.length; at += 16 + moved.readUInt32LE(at + 8)) {
  moved.writeUInt32LE(moved.readUInt32LE(at) + 3600, at);
}
writeFileSync(later, moved);

interface Report {
  readonly exact: boolean;
  readonly completeFrom: number;
  readonly flows: number;
  readonly bytes: number;
  readonly packets: number;
  readonly undecoded: Record<string, number>;
  readonly top: readonly {
    readonly source: string | null;
    readonly destinationPort: number | null;
    readonly bytes: { atLeast: number; atMost: number };
    readonly packets: { atLeast: number; atMost: number | null };
  }[];
}

function reports(args: readonly string[], input: string | Uint8Array = ''): Report[] {
  const { code, stdout, stderr } = bloomery(['flows', '--json', ...args], { input });
  expect([code, stderr]).toEqual([0, '']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('flows prints the largest flows and says that they are exact', () => {
  const { code, stdout, stderr } = bloomery(['flows', path, '--top', '3']);
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(
    /^20,000 packets, [\d.]+ MB in [\d,]+ flows, 2023-11-14 22:13:20 UTC to 2023-11-14/,
  );
  expect(lines[1]).toBe('exact: every flow was counted');
  expect(lines[3]).toMatch(/^ +bytes +share +packets +source +port +destination +port +protocol$/);
  expect(lines.length).toBe(7);
});

test('files, packed files and pipes give the same', () => {
  const packed = join(folder, 'zipf.pcap.gz');
  writeFileSync(packed, gzipSync(readFileSync(path)));
  const [whole] = reports([path]);
  expect(whole).toMatchObject({ exact: true, flows: FLOWS, packets: 20_000, completeFrom: 0 });
  expect(reports([packed])).toEqual([whole]);
  expect(reports(['-'], readFileSync(path))).toEqual([whole]);
  expect(reports([], readFileSync(path))).toEqual([whole]);
  const [twice] = reports([path, packed]);
  expect([twice.packets, twice.bytes, twice.flows]).toEqual([40_000, 2 * whole.bytes, whole.flows]);
});

test('in little memory it gives bounds that hold, and says from which size on it is complete', () => {
  const [exact] = reports([path, '--top', '100000']);
  const [estimate] = reports([path, '--top', '100000', '--memory', '1250kB']);
  expect(estimate.exact).toBe(false);
  expect(estimate.completeFrom).toBeGreaterThan(0);
  const key = ({ source, destinationPort }: Report['top'][number]) => `${source} ${destinationPort}`;
  const truth = new Map(exact.top.map((flow) => [key(flow), flow.bytes.atMost]));
  for (const flow of estimate.top) {
    expect(flow.bytes.atLeast).toBeLessThanOrEqual(truth.get(key(flow))!);
    expect(flow.bytes.atMost).toBeGreaterThanOrEqual(truth.get(key(flow))!);
  }
  const listed = new Set(estimate.top.map(key));
  for (const [name, bytes] of truth) if (bytes >= estimate.completeFrom) expect(listed.has(name)).toBe(true);
  const { stdout } = bloomery(['flows', path, '--memory', '1250kB']);
  expect(stdout).toContain('estimate: the memory holds');
  expect(stdout).toMatch(/at least +at most +share/);
});

test('--by, --packets, --wire, --threshold and --interval choose what is counted', () => {
  const [byPort] = reports([path, '--by', 'dport', '--packets', '--top', '2']);
  expect(byPort.flows).toBeGreaterThan(900);
  expect(byPort.top[0].source).toBeNull();
  expect(byPort.top[0].packets.atLeast).toBeGreaterThan(byPort.top[1].packets.atLeast);
  const [subnets] = reports([path, '--by', 'src/8/32']);
  expect(subnets.top.map(({ source }) => source).sort()).toEqual(['10.0.0.0/8', '2001:db8::/32']);
  const [plain] = reports([path]);
  expect(reports([path, '--wire'])[0].bytes).toBe(plain.bytes + 14 * 20_000);
  const [heavy] = reports([path, '--threshold', '1%', '--top', '1000']);
  expect(heavy.top.every(({ bytes }) => bytes.atMost >= plain.bytes / 100)).toBe(true);
  // The capture lasts 0.2 s, so it is one interval.
  const both = reports([path, later, '--interval', '60s']);
  expect(both.map(({ packets, bytes }) => [packets, bytes])).toEqual([
    [20_000, plain.bytes],
    [20_000, plain.bytes],
  ]);
});

test('--flow prints one flow, exactly or between its bounds', () => {
  const [{ bytes, packets }] = reports([path, '--by', 'proto']).map(({ top }) => top[0]);
  const { stdout } = bloomery(['flows', path, '--flow', 'proto=tcp']);
  expect(stdout).toBe(
    `proto=tcp: ${bytes.atMost.toLocaleString('en-US')} bytes in ${packets.atLeast.toLocaleString('en-US')} packets (exact)\n`,
  );
  const rare = bloomery(['flows', path, '--flow', 'src=10.0.0.7,dport=9', '--json']);
  expect(JSON.parse(rare.stdout)).toEqual({
    flow: 'src=10.0.0.7,dport=9',
    bytes: { atLeast: 0, atMost: 0 },
    packets: { atLeast: 0, atMost: 0 },
  });
});

test('--prefixes lists networks of any size, each with what longer ones leave', () => {
  const { code, stdout, stderr } = bloomery(['flows', path, '--prefixes', 'src', '--threshold', '10%']);
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^[\d.]+ MB of IPv4; listed: prefixes with 10.0 % or more/);
  expect(lines[1]).toBe('exact: every address was counted');
  expect(lines[2]).toMatch(/^not listed: [\d.]+ MB of IPv6$/);
  expect(lines[4]).toMatch(/^ *bytes +share +alone +prefix of sources$/);
  const data = bloomery(['flows', path, '--prefixes', 'dst', '--packets', '--json']).stdout;
  const { exact, total, ipv6, prefixes } = JSON.parse(data);
  expect([exact, total + ipv6]).toEqual([true, 20_000]);
  // All destinations are in 192.168.0.0/16, and half of the packets are of a few flows.
  expect(prefixes.length).toBeGreaterThan(10);
  for (const one of prefixes) {
    expect(one.prefix).toMatch(/^192\.168\./);
    expect(one.aloneAtMost).toBeGreaterThanOrEqual(0.01 * total);
  }
  const alone = prefixes.reduce((sum: number, one: { aloneAtMost: number }) => sum + one.aloneAtMost, 0);
  expect(alone).toBeLessThanOrEqual(total);
  expect(bloomery(['flows', path, '--prefixes', 'src', '--by', 'dst']).stderr).toContain('leave --by out');
});

test('--prefixes refuses a share that its sketch of many addresses cannot tell', () => {
  // Raw IPv4 headers of 300,000 addresses, which spread over the whole range.
  const count = 300_000;
  const capture = Buffer.alloc(24 + 36 * count);
  capture.set([0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
  capture.writeUInt32LE(101, 20);
  for (let i = 0, at = 24; i < count; i++, at += 36) {
    capture.writeUInt32LE(20, at + 8);
    capture.writeUInt32LE(20, at + 12);
    capture.set([0x45, 0, 0, 20], at + 16);
    capture.writeUInt32BE(Math.imul(i, 0x9e3779b1) >>> 0, at + 28);
  }
  const many = join(folder, 'many.pcap');
  writeFileSync(many, capture);
  const { code, stderr } = bloomery(['flows', many, '--prefixes', 'src', '--threshold', '0.0001%']);
  expect([code, stderr]).toEqual([
    2,
    'bloomery: error: --threshold is below the error of counting so many addresses; ask for 0.1 % or more\n',
  ]);
  const { exact } = JSON.parse(bloomery(['flows', many, '--prefixes', 'src', '--json']).stdout);
  expect(exact).toBe(false);
});

test('a later fragment counts for the flow of its first one', () => {
  const writer = new CaptureWriter({ format: 'pcap' });
  const head = (id: number, flags: number) =>
    [
      2,
      0,
      0,
      0,
      0,
      1,
      2,
      0,
      0,
      0,
      0,
      2,
      8,
      0,
      0x45,
      0,
      0,
      44,
      0,
      id,
      flags >> 8,
      flags & 255,
      64,
      17,
      0,
      0,
    ].concat([10, 0, 0, 1, 10, 0, 0, 2]);
  const payload = [4, 87, 0, 53, ...new Array<number>(20).fill(0)];
  for (const flags of [0x2000, 0x2003, 6])
    writer.add({ seconds: 1, nanoseconds: flags, bytes: Uint8Array.from([...head(7, flags), ...payload]) });
  const [report] = reports([], writer.take());
  expect(report.top).toMatchObject([{ destinationPort: 53, bytes: { atMost: 132 }, packets: { atMost: 3 } }]);
});

test('an input or an interval without packets is one line', () => {
  const empty = new CaptureWriter({ format: 'pcap' }).take();
  const { code, stdout } = bloomery(['flows'], { input: empty });
  expect([code, stdout]).toEqual([0, 'no packets\n']);
});

test('--anonymise keeps prefixes and totals, and hides addresses', () => {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, Buffer.alloc(16, 7));
  const [plain] = reports([path, '--by', 'src/16']);
  const [renamed] = reports([path, '--by', 'src/16', '--anonymise', keyFile]);
  expect(renamed.top.map(({ bytes }) => bytes)).toEqual(plain.top.map(({ bytes }) => bytes));
  expect(renamed.top.map(({ source }) => source)).not.toEqual(plain.top.map(({ source }) => source));
  const nets = new Set(
    renamed.top.flatMap(({ source }) => (source!.includes(':') ? [] : [source!.split('.')[0]])),
  );
  expect(nets.size).toBe(1);
});

test('--prometheus prints metrics', () => {
  const { code, stdout } = bloomery(['flows', path, '--by', 'proto', '--prometheus']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^bloomery_flow_bytes\{proto="tcp"\} \d+$/m);
  expect(stdout).toMatch(/^bloomery_flows_exact 1$/m);
  expect(stdout).toMatch(/^bloomery_flows_undecoded\{reason="notIp"\} 0$/m);
  for (const line of stdout.trim().split('\n')) {
    expect(line).toMatch(/^(# (HELP|TYPE) bloomery_\w+ .+|bloomery_\w+(\{[^}]*\})? [\d.]+)$/);
  }
});

test('packets that cannot be counted are told, a cut capture gives its whole packets', () => {
  const { code, stdout, stderr } = bloomery(['flows', damaged]);
  expect(code).toBe(0);
  expect(stdout).toContain('not counted: 1 of 20,001 packets (1 not IP)');
  expect(stderr).toMatch(/warning: .*damaged\.pcap: Cannot read the capture: expected the rest of a record/);
});

test('errors name what is wrong and what to do', () => {
  const text = join(folder, 'notes.txt');
  writeFileSync(text, 'this is no capture at all\n');
  const fails = (...args: string[]) => {
    const { code, stdout, stderr } = bloomery(['flows', ...args]);
    expect([code, stdout]).toEqual([2, '']);
    return stderr;
  };
  expect(fails(text)).toMatch(/notes\.txt is no capture: expected pcap or pcapng, as tcpdump -w writes it/);
  expect(fails('-')).toMatch(/standard input is no capture/);
  expect(fails(join(folder, 'absent.pcap'))).toMatch(/absent\.pcap: no such file/);
  expect(fails(path, '--by', 'source')).toMatch(
    /Expected each of src, dst, sport, dport, proto .* got "source"/,
  );
  expect(fails(path, '--flow', '10.0.0.7')).toMatch(/Expected fields such as src=10\.0\.0\.7/);
  expect(fails(path, '--flow', 'src=10.0.0.7', '--by', 'src')).toMatch(/leave --by out/);
  expect(fails(path, '--live')).toMatch(/--live needs a terminal/);
  expect(fails(path, '--json', '--prometheus')).toMatch(/choose one/);
  expect(fails(path, '--exact', '--memory', '1250kB')).toMatch(
    /do not fit into the memory for --exact; raise --memory/,
  );
  expect(fails(path, '--memory', '1kB')).toMatch(/--memory/);
});

test('Ctrl-C ends the reading of a pipe with the answer', async () => {
  const child = startBloomery(['flows', '-', '--json', '--interval', '60s']);
  let output = '';
  const ended = new Promise((resolve) => child.on('close', (_, signal) => resolve(signal)));
  // The list of the first interval comes with the first packet of the next one.
  const first = new Promise<void>((resolve) => {
    child.stdout.on('data', (data) => {
      output += String(data);
      if (output.includes('\n')) resolve();
    });
  });
  child.stdin.on('error', () => {});
  child.stdin.write(Buffer.concat([readFileSync(path), moved.subarray(24)]));
  await first;
  child.kill('SIGINT');
  expect(await ended).toBe('SIGINT');
  const lists = output
    .trim()
    .split('\n')
    .map((line): Report => JSON.parse(line));
  expect(lists.length).toBe(2);
  expect(lists[0].packets).toBe(20_000);
  expect(lists[1].packets).toBeGreaterThan(0);
});

test('--netflow counts the records that softflowd exports', async () => {
  const child = startBloomery(['flows', '--netflow', '127.0.0.1:0', '--json', '--interval', '1s']);
  onTestFinished(() => void child.kill('SIGKILL'));
  let [output, errors] = ['', ''];
  child.stdout.on('data', (data) => {
    output += String(data);
  });
  child.stderr.on('data', (data) => {
    errors += String(data);
  });
  const port = await eventually(() => /waiting for flow exports on 127\.0\.0\.1:(\d+)/.exec(errors)?.[1]);
  const ended = new Promise((resolve) => child.on('close', (_, signal) => resolve(signal)));
  const small = join(folder, 'small.pcap');
  writeZipfCapture({ path: small, packets: 2000, flows: 300, order: 'mixed', seed: 3 });
  const args = [
    '-d',
    '-r',
    small,
    '-n',
    `127.0.0.1:${port}`,
    '-v',
    '9',
    '-p',
    join(folder, 'pid'),
    '-c',
    'none',
  ];
  const exporter = spawnSync('/usr/sbin/softflowd', args, { timeout: 60_000 });
  expect(exporter.status).toBe(0);
  const lists = () =>
    output
      .split('\n')
      .slice(0, -1)
      .map((line): Report => JSON.parse(line));
  const sum = (name: 'packets' | 'bytes') => lists().reduce((total, list) => total + list[name], 0);
  await until('all packets of the capture', () => sum('packets') === 2000);
  child.kill('SIGINT');
  expect(await ended).toBe('SIGINT');
  expect([sum('packets'), sum('bytes')]).toEqual([2000, reports([small])[0].bytes]);
});

test('--netflow refuses captures and what is no address', () => {
  expect(bloomery(['flows', '--netflow', 'nowhere']).stderr).toMatch(
    /--netflow expects an address such as :2055/,
  );
  expect(bloomery(['flows', path, '--netflow', ':2055']).stderr).toMatch(/leave the captures out/);
});
