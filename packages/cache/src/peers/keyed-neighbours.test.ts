import { FleetKeyring } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import type { StoredResponse } from '../policy/stored-response.ts';
import { Flights } from '../proxy/flight/flights.ts';
import type { ProxyFlights } from '../proxy/flight/shared-response.ts';
import { KeyedNeighbours } from './keyed-neighbours.ts';
import type { NeighbourDirectory, NeighbourPlan, OwnerWord } from './neighbour-port.ts';

const older = new Uint8Array(16).fill(3);
const b = { id: 'b', address: 'http://b', keyId: null };
const toB: NeighbourPlan = {
  asks: [{ neighbour: b, headDeadlineMs: 9, hedgeAfterMs: null }],
  afterwards: 'owner',
};

function neighbours(given?: OwnerWord | null) {
  const asked: unknown[] = [];
  const keyring = new FleetKeyring([older]);
  const word = given === undefined ? { owner: 'c', keyId: keyring.first.id, answer: b } : given;
  const directory: NeighbourDirectory = {
    plan: (hashes) => {
      asked.push(['plan', ...hashes]);
      return toB;
    },
    askOwner: async (hashes, lost) => {
      asked.push(['owner', ...hashes, lost]);
      return word;
    },
    done: (owner, hash) => asked.push(['done', owner, hash]),
    gaveUp: (owner, hash, why) => asked.push([why, owner, hash]),
    find: (node) => (node === 'b' ? b : null),
    report: (report) => asked.push(report),
  };
  const mayName = (key: string) => !key.includes('secret');
  const hashOf = (key: string, { id: keyId, summary } = keyring.first) => {
    const { low, high } = hashKey(key, { key: summary });
    return { keyId, low, high };
  };
  const flights: ProxyFlights = new Flights(() => 0);
  const keyed = new KeyedNeighbours({
    directory,
    keyring,
    mayName,
    mayShare: ({ status }) => status === 200,
    isBarren: (key) => flights.isBarren(key),
  });
  flights.watch((flight) => keyed.fetched(flight));
  return { keyed, asked, hashOf, flights, keyring };
}

const request = (key: string) => ({ method: 'GET', key, headers: [] });

test('a key is known to the directory by its hash under the key of the fleet', () => {
  const { keyed, asked, hashOf } = neighbours();
  expect(keyed.plan(request('http://x/a'))).toBe(toB);
  expect(asked).toEqual([['plan', hashOf('http://x/a')]]);
  expect(keyed.find('b')).toBe(b);
});

test('a key with a secret is not even hashed for the directory', () => {
  const { keyed, asked } = neighbours();
  expect(keyed.plan(request('http://x/secret'))).toEqual({
    asks: [],
    afterwards: 'origin',
    why: 'the URL may not be named',
  });
  expect(asked).toEqual([]);
});

test('the owner that was asked hears once that the object is stored, and of no other key', async () => {
  const { keyed, asked, hashOf } = neighbours();
  expect(await keyed.askOwner('http://x/a', 'd')).toBe(b);
  keyed.stored('http://x/b');
  keyed.stored('http://x/a');
  keyed.stored('http://x/a');
  const hash = hashOf('http://x/a');
  expect(asked).toEqual([
    ['owner', hash, 'd'],
    ['done', 'c', hash],
  ]);
});

const failed = { kind: 'failed', error: new Error('x') } as const;
const withStatus = (status: number) => {
  // The claim depends on the status alone, because `mayShare` does here.
  const response = { status } as StoredResponse;
  const rest = { body: null, validated: false, personal: false, fromNeighbour: false };
  return { kind: 'shared', shared: { ...rest, response, source: response } } as const;
};

test.each([
  ['left', failed, false],
  ['left', { kind: 'private' }, false],
  ['unshareable', { kind: 'private' }, true],
  ['unshareable', withStatus(404), false],
  ['left', null, false],
] as const)('the owner hears %s at once if the fetch brings nothing', async (why, landing, barren) => {
  const { keyed, asked, hashOf, flights } = neighbours();
  const flight = flights.begin('http://x/a');
  await keyed.askOwner('http://x/a', null);
  asked.length = 0;
  if (barren) flights.markBarren('http://x/a');
  // A range of the same object ends without a word.
  flights.end(flights.begin('http://x/a', 'alone'));
  expect(asked).toEqual([]);
  if (landing === null) flights.end(flight);
  else flight.land(landing);
  expect(asked).toEqual([[why, 'c', hashOf('http://x/a')]]);
  flights.end(flight);
  keyed.stored('http://x/a');
  expect(asked).toHaveLength(1);
});

test('a shared response is done when it is stored, and left when the fetch ends without that', async () => {
  const { keyed, asked } = neighbours();
  const words = () => asked.splice(0).map((each) => (each as unknown[])[0]);
  for (const isStored of [true, false]) {
    const flights: ProxyFlights = new Flights(() => 0);
    flights.watch((flight) => keyed.fetched(flight));
    const flight = flights.begin('http://x/a');
    await keyed.askOwner('http://x/a', null);
    flight.land(withStatus(200));
    expect(words()).toEqual(['owner']);
    if (isStored) keyed.stored('http://x/a');
    flights.end(flight);
    expect(words()).toEqual([isStored ? 'done' : 'left']);
  }
});

test('without an answer of the directory there is no claim', async () => {
  const { keyed, asked } = neighbours(null);
  expect(await keyed.askOwner('http://x/a', null)).toBeNull();
  keyed.stored('http://x/a');
  expect(asked).toHaveLength(1);
});

test('claims that are never stored do not gather without end', async () => {
  const { keyed, asked } = neighbours();
  for (let i = 0; i < 4097; i++) await keyed.askOwner(`http://x/${i}`, null);
  asked.length = 0;
  keyed.stored('http://x/0');
  expect(asked).toEqual([]);
  keyed.stored('http://x/1');
  expect(asked).toHaveLength(1);
});

test('with two secrets, the directory gets both hashes, and an owner the one that it was asked by', async () => {
  const { keyed, asked, hashOf, keyring } = neighbours();
  const newer = new Uint8Array(16).fill(4);
  keyring.change([newer, older]);
  const [first, second] = keyring.all;
  const both = [hashOf('http://x/a', first), hashOf('http://x/a', second)];
  expect(keyed.hashes('http://x/a')).toEqual(both);
  await keyed.plan(request('http://x/a'));
  // The owner is asked by the second one, as `word` says.
  await keyed.askOwner('http://x/a', null);
  await keyed.askOwner('http://x/b', null);
  keyed.stored('http://x/a');
  expect(asked.slice(0, 2)).toEqual([
    ['plan', ...both],
    ['owner', ...both, null],
  ]);
  expect(asked[3]).toEqual(['done', 'c', both[1]]);
  // A claim under a secret that is gone cannot be named any more.
  keyring.change([newer]);
  keyed.stored('http://x/b');
  expect(asked).toHaveLength(4);
});
