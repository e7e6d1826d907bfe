import { squidKey } from 'bloomery/formats/squid';
import { expect, test } from 'vitest';
import type { Steps } from '../sliced-work.ts';
import { KEY_BYTES, SquidKeys } from './squid-keys.ts';

const url = (i: number) => `http://example.org/${i}`;

function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The keys that are fresh at a time, in hexadecimal digits. */
function fresh(keys: SquidKeys, time: number): Set<string> {
  const bytes = Buffer.from(finish(keys.freshAt(time)));
  const found = new Set<string>();
  for (let at = 0; at < bytes.length; at += KEY_BYTES)
    found.add(bytes.subarray(at, at + KEY_BYTES).toString('hex'));
  return found;
}

const hex = (text: string) => Buffer.from(squidKey(text)).toString('hex');

test('SquidKeys gives the whole keys that Squid hashes, of responses that stay fresh', () => {
  const keys = new SquidKeys();
  for (let i = 0; i < 5000; i++) keys.keep(url(i), 1_000_000 + 1000 * i);
  const expected = Array.from({ length: 5000 }, (_, i) => url(i));
  expect(fresh(keys, 999_999)).toEqual(new Set(expected.map(hex)));
  // The response 1000 is stale at 2,000,000, and the next one is fresh until a second later.
  expect(fresh(keys, 2_000_000)).toEqual(new Set(expected.slice(1001).map(hex)));
});

test('SquidKeys forgets dropped keys and takes the latest time of a key', () => {
  const keys = new SquidKeys();
  keys.keep(url(1), 5000);
  keys.keep(url(2), 5000);
  keys.keep(url(2), 9000);
  keys.keep(url(3), 9000);
  keys.drop(url(3));
  keys.drop(url(4));
  expect(keys.size).toBe(2);
  expect(fresh(keys, 6000)).toEqual(new Set([hex(url(2))]));
});

test('SquidKeys knows a URL by the form that Squid hashes', () => {
  const keys = new SquidKeys();
  keys.keep('http://example.org/a%2Fb?q=1', 9000);
  expect(fresh(keys, 0)).toEqual(new Set([hex('HTTP://Example.ORG:80/a%2Fb?q=1')]));
});

test('SquidKeys may change while its keys are read', () => {
  const keys = new SquidKeys();
  for (let i = 0; i < 2000; i++) keys.keep(url(i), 9000);
  const steps = keys.freshAt(0);
  steps.next();
  for (let i = 0; i < 3000; i += 2) keys.drop(url(i));
  for (let i = 2000; i < 6000; i++) keys.keep(url(i), 9000);
  const bytes = Buffer.from(finish(steps)).toString('hex');
  for (let i = 1; i < 2000; i += 2) expect(bytes).toContain(hex(url(i)));
});
