import { expect, test } from 'vitest';
import { FIVE_TUPLE, namesOfFields, parseFlowFields } from './flow-fields.ts';
import { KeyWriter, parseFlow, protocolName, readFlowKey } from './flow-key.ts';
import { parseAddress } from './parse-address.ts';

const V4 = Uint32Array.of(0x0a010203, 0xc0a80001, (1234 << 16) | 443, 0x400 | 6);
const V6 = Uint32Array.of(0x20010db8, 1, 2, 3, 0xfe800000, 0, 0, 9, (53 << 16) | 40_000, 0x600 | 17);

function roundTrip(text: string, header: Uint32Array, version: 4 | 6) {
  const fields = parseFlowFields(text);
  const out = new Int32Array(12).fill(-1);
  const end = new KeyWriter(fields).write(header, 0, version, out, 1);
  expect(out[0]).toBe(-1);
  expect((out[1] & 0xff) * 2).toBe(end - 1);
  return readFlowKey(out.slice(1, end), fields);
}

test('KeyWriter and readFlowKey: every combination of fields, prefixes by version', () => {
  expect(roundTrip('src,sport,dst,dport,proto', V4, 4)).toEqual({
    source: '10.1.2.3',
    sourcePort: 1234,
    destination: '192.168.0.1',
    destinationPort: 443,
    protocol: 6,
  });
  expect(roundTrip('src/24,dport', V4, 4)).toEqual({
    source: '10.1.2.0/24',
    sourcePort: null,
    destination: null,
    destinationPort: 443,
    protocol: null,
  });
  expect(roundTrip('src/0,dst/9', V4, 4)).toMatchObject({
    source: '0.0.0.0/0',
    destination: '192.128.0.0/9',
  });
  expect(roundTrip('src/24', V6, 6).source).toBe('2001:db8:0:1:0:2:0:3');
  expect(roundTrip('src/24/48,dst/64', V6, 6)).toMatchObject({
    source: '2001:db8::/48',
    destination: 'fe80::/64',
  });
  expect(roundTrip('src/64', V4, 4).source).toBe('10.1.2.3');
});

test('flows without addresses are the same in IPv4 and IPv6', () => {
  const fields = parseFlowFields('dport,proto');
  const [a, b] = [new Int32Array(10), new Int32Array(10)];
  const both = Uint32Array.from(V6);
  both[8] = V4[2];
  both[9] = V4[3];
  expect(new KeyWriter(fields).write(V4, 0, 4, a, 0)).toBe(new KeyWriter(fields).write(both, 0, 6, b, 0));
  expect(a).toEqual(b);
});

test('parseFlow gives the key that a packet of the flow has', () => {
  const key = (text: string, header: Uint32Array, version: 4 | 6) => {
    const flow = parseFlow(text);
    const out = new Int32Array(10);
    const end = new KeyWriter(flow.fields).write(header, 0, version, out, 0);
    expect(flow.key).toEqual(out.slice(0, end));
    return namesOfFields(flow.fields);
  };
  expect(key('src=10.1.2.3,sport=1234,dst=192.168.0.1,dport=443,proto=tcp', V4, 4).length).toBe(5);
  expect(key('dst=192.168.0.0/16', V4, 4)).toEqual(['dst']);
  expect(key('proto=6,dport=443', V4, 4)).toEqual(['dport', 'proto']);
  expect(key('src=2001:db8::/32,proto=17', V6, 6)).toEqual(['src', 'proto']);
  expect(parseFlow('src=10.0.0.7').fields).toEqual({
    ...FIVE_TUPLE,
    destination: null,
    sourcePort: false,
    destinationPort: false,
    protocol: false,
  });
});

test('wrong fields and flows are refused, with what came', () => {
  for (const text of [
    '',
    'source',
    'src,src',
    'src/',
    'src/33/129',
    'src/x',
    'sport/16',
    'src/1/2/3',
    'src/129',
  ]) {
    expect(() => parseFlowFields(text), text).toThrow(/Cannot use flow fields: expected/);
  }
  for (const text of [
    '',
    'src',
    'src=',
    'src=10.0.0',
    'src=10.0.0.256',
    'src=10.0.0.1/33',
    'src=::1/129',
    'src=10.0.0.1,dst=::1',
    'dport=65536',
    'proto=256',
    'proto=quic',
    'src=1.2.3.4=5',
    'dport=1,dport=2',
  ]) {
    expect(() => parseFlow(text), text).toThrow(/Cannot read a flow: expected fields/);
  }
  expect(() => parseFlow('port=5')).toThrow(/Cannot use flow fields/);
});

test('parseAddress reads both versions and refuses the rest', () => {
  expect(parseAddress('255.0.1.2')).toEqual([0xff000102]);
  expect(parseAddress('::')).toEqual([0, 0, 0, 0]);
  expect(parseAddress('::ffff:1.2.3.4')).toEqual([0, 0, 0xffff, 0x01020304]);
  expect(parseAddress('1:2:3:4:5:6:7:8')).toEqual([0x10002, 0x30004, 0x50006, 0x70008]);
  for (const text of [
    '1.2.3',
    '1.2.3.4.5',
    '1:2',
    '1::2::3',
    '12345::',
    'g::',
    ':1',
    '1:2:3:4:5:6:7::8',
    ':::',
  ]) {
    expect(parseAddress(text), text).toBeUndefined();
  }
});

test('protocolName knows the usual ones', () => {
  expect([protocolName(6), protocolName(58), protocolName(200)]).toEqual(['tcp', 'icmp6', '200']);
});
