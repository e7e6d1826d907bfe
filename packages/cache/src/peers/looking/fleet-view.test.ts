import { Random } from '@bloomery/testkit/statistics';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import type { Peer } from '@bloomery/transport';
import { expect, test } from 'vitest';
import { decodeView, encodeView, FleetViews, type NodeView, type ViewLink } from './fleet-view.ts';

const link = (id: string | null, address: string, state: 0 | 1 | 2 = 0): ViewLink => ({
  id,
  address,
  state,
  objects: 5,
  trueHits: 3,
  falseHits: 1,
});
const VIEW: NodeView = {
  group: 'g',
  isLeader: true,
  objects: 7,
  links: [link('b', 'http://b'), link(null, 'http://c', 2)],
};
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

test('decodeView reads what encodeView wrote', () => {
  expect(decodeView(encodeView(VIEW))).toEqual(VIEW);
});

test('decodeView takes nothing that is no view: prefixes, changed bytes, random bytes, wrong values', () => {
  const good = encodeView(VIEW);
  for (let length = 0; length < good.length; length++)
    expect(decodeView(good.subarray(0, length))).toBeNull();
  const random = new Random(7);
  for (let i = 0; i < 2000; i++) {
    const damaged = good.slice();
    damaged[random.below(damaged.length)] ^= 1 << random.below(8);
    const view = decodeView(damaged);
    // A changed letter may be another name; it never is another shape.
    if (view !== null) expect(decodeView(encodeView(view))).toEqual(view);
    decodeView(Uint8Array.from({ length: random.below(60) }, () => random.below(256)));
  }
  const { v, links, ...rest } = JSON.parse(text(good));
  const wrong: unknown[] = [
    { ...rest, v: 2, links },
    { ...rest, v, links: null },
    { ...rest, v, links: [[]] },
    { ...rest, v, links: [['b', 'x'.repeat(301), 0, 1, 1, 1]] },
    { ...rest, v, links: [['b'.repeat(129), 'x', 0, 1, 1, 1]] },
    { ...rest, v, links: [['b', 'x', 3, 1, 1, 1]] },
    { ...rest, v, links: [['b', 'x', 0, -1, 1, 1]] },
    { ...rest, v, links: [['b', 'x', 0, 1.5, 1, 1]] },
    { ...rest, v, links: Array(4097).fill(links[0]) },
    { ...rest, v, links, objects: '7' },
    { ...rest, v, links, group: 7 },
    { ...rest, v, links, isLeader: 1 },
    [],
    null,
  ];
  for (const each of wrong) expect(decodeView(bytesOf(each)), JSON.stringify(each)?.slice(0, 80)).toBeNull();
});

test('FleetViews puts the links of all nodes together, and asks at most every 5 s', async () => {
  const clock = new VirtualClock();
  const peer = (id: string | null, address: string, state: Peer['state']) =>
    ({ id, address, state, since: 0, why: null, keys: [] }) as Peer;
  const peers = [
    peer('b', 'http://b', 'up'),
    peer('c', 'http://c', 'up'),
    peer(null, 'http://d', 'down'),
    peer('a', 'http://a2', 'self'),
  ];
  let asked = 0;
  const views = new FleetViews({
    transport: {
      self: { id: 'a' },
      peers: () => peers,
      serve: () => () => {},
      request: async (address) => {
        asked++;
        if (address === 'http://c') throw new Error('no such topic');
        // By an address that only b uses, and with a link to itself that does not count.
        return encodeView({
          ...VIEW,
          links: [link('a', 'http://10.0.0.1'), link('b', 'http://b'), link('x', 'y')],
        });
      },
    },
    clock,
    own: () => ({
      group: null,
      isLeader: false,
      objects: 2,
      links: [link('b', 'http://b', 1), link(null, 'http://d', 2)],
    }),
    address: () => 'http://a',
  });
  const picture = await views.picture();
  expect(picture.nodes.map(({ id, state, isSelf, objects }) => [id, state, isSelf, objects])).toEqual([
    ['a', 'up', true, 2],
    ['b', 'up', false, 7],
    ['c', 'silent', false, null],
    [null, 'down', false, null],
  ]);
  expect(picture.links).toEqual([
    [0, 1, 1, 5, 3, 1],
    [0, 3, 2, 5, 3, 1],
    [1, 0, 0, 5, 3, 1],
  ]);
  expect(await views.picture()).toBe(picture);
  expect(asked).toBe(2);
});
