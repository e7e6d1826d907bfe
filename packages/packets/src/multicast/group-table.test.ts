import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { SecretKey } from 'bloomery';
import { describe, expect, test } from 'vitest';
import { ipPacket } from '../../test/loops/build-capture.ts';
import { PathShim } from '../loops/path-shim.ts';
import { Router } from '../routers/router.ts';
import { GroupTable } from './group-table.ts';

const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));

/** Group number i: 239.0.0.0/8. */
function groupOf(i: number): Uint8Array {
  return Uint8Array.of(239, i >> 16, i >> 8, i);
}

describe('a router with 32 interfaces and 3 memberships per group', () => {
  const groups = withEffort(10_000, 2000);
  const random = new Random(1);
  const capacity = Math.ceil((3 * groups) / 32) + 5 * Math.ceil(Math.sqrt((3 * groups) / 32));
  const table = new GroupTable({ interfaces: 32, capacity, falsePositiveRate: 0.01, key });
  const members = Array.from({ length: groups }, () => {
    const ports = new Set<number>();
    while (ports.size < 3) ports.add(random.below(32));
    return ports;
  });
  for (let port = 0; port < 32; port++)
    table.joinMany(port, [...members.keys()].filter((i) => members[i]!.has(port)).map(groupOf));

  test('every interface with a member gets every packet', () => {
    let missing = 0;
    for (const [i, ports] of members.entries()) {
      const found = table.portsFor(groupOf(i), -1);
      for (const port of ports) if (!found.includes(port)) missing++;
    }
    expect(missing).toBe(0);
  });

  test('surplus copies are as many as the fill of the filters predicts', () => {
    let [surplus, predicted, variance] = [0, 0, 0];
    const rates = Array.from({ length: 32 }, (_, port) => {
      const others = Array.from({ length: 32 }, (_, i) => i).filter((i) => i !== port);
      return table.estimatedSurplus(others, -1);
    });
    for (const [i, ports] of members.entries()) {
      const [from] = ports;
      surplus += table.portsFor(groupOf(i), from!).filter((port) => !ports.has(port)).length;
      predicted += table.estimatedSurplus(ports, from!);
      for (const [port, rate] of rates.entries()) if (!ports.has(port)) variance += rate * (1 - rate);
    }
    expectNormal(surplus, predicted, Math.sqrt(variance), 'surplus copies');
    // The plan: at most 29 other interfaces at 1 %, which are filled to less than their capacity.
    expect(surplus / groups).toBeLessThan(0.29);
    expect(surplus / groups).toBeGreaterThan(0.1);
  });

  test('groups without members have the rates of all interfaces', () => {
    const asked = 3 * groups;
    let surplus = 0;
    for (let i = 0; i < asked; i++) surplus += table.portsFor(groupOf(0x800000 + i), 0).length;
    const mean = table.estimatedSurplus([], 0);
    expectNormal(surplus, asked * mean, Math.sqrt(asked * mean), 'surplus copies');
  });
});

test('GroupTable agrees with exact sets through joins and leaves, but for its surplus', () => {
  const random = new Random(2);
  const table = new GroupTable({ interfaces: 5, capacity: 60, falsePositiveRate: 0.05, key });
  const sets = Array.from({ length: 5 }, () => new Map<number, number>());
  for (let round = 0; round < 4000; round++) {
    const [port, group] = [random.below(5), random.below(100)];
    const joined = sets[port]!.get(group) ?? 0;
    if (random.below(2) === 0 && joined < 3) {
      table.join(port, groupOf(group));
      sets[port]!.set(group, joined + 1);
    } else if (joined > 0) {
      if (!table.leave(port, groupOf(group))) expect.fail(`round ${round}: a member could not leave`);
      sets[port]!.set(group, joined - 1);
    }
    const asked = random.below(100);
    const ports = table.portsFor(groupOf(asked), -1);
    for (const [i, set] of sets.entries())
      if ((set.get(asked) ?? 0) > 0 && !ports.includes(i)) expect.fail(`round ${round}: ${i} was left out`);
  }
  // When all have left, nothing is forwarded any more.
  for (const [port, set] of sets.entries())
    for (const [group, count] of set) for (let i = 0; i < count; i++) table.leave(port, groupOf(group));
  for (let i = 0; i < 100; i++) expect(table.portsFor(groupOf(i), -1)).toEqual([]);
});

test('GroupTable never sends a packet back, nor groups of the link itself', () => {
  const table = new GroupTable({ interfaces: 3, capacity: 10, falsePositiveRate: 0.01, key });
  for (const port of [0, 1, 2]) table.join(port, groupOf(1));
  expect(table.portsFor(groupOf(1), 1)).toEqual([0, 2]);
  const wide = Uint8Array.of(0xff, 0x0e, ...new Array(13).fill(0), 1);
  table.join(2, wide);
  expect(table.portsFor(wide, 0)).toEqual([2]);
  const ofLink = [Uint8Array.of(224, 0, 0, 251), Uint8Array.of(0xff, 2, ...new Array(13).fill(0), 1)];
  for (const group of [...ofLink, Uint8Array.of(10, 0, 0, 1), new Uint8Array(3)])
    expect(() => table.join(0, group)).toThrow('Cannot join a group');
  for (const group of ofLink) expect(table.portsFor(group, 0)).toEqual([]);
  expect(() => table.join(3, groupOf(1))).toThrow('Cannot use an interface');
  expect(table.leave(0, groupOf(99))).toBe(false);
});

test.each([
  ['TTL alone lets copies multiply', false],
  ['a filter in the packet ends each copy where it was before', true],
])('four routers that all forward to each other: %s', (_, hasShim) => {
  const clock = new VirtualClock();
  let datagrams = 0;
  let delivered = 0;
  const routers = Array.from({ length: 4 }, (_, node) => {
    const groups = new GroupTable({ interfaces: 4, capacity: 10, falsePositiveRate: 0.001, key });
    for (let port = 0; port < 4; port++) groups.join(port, groupOf(7));
    const random = () => clock.random();
    // 256 bits for paths of up to 4: false alarms are below one in a million.
    const shim = hasShim ? { shim: new PathShim({ node: `r${node}`, bits: 256, hashes: 8, random }) } : {};
    return new Router({ clock, groups, ...shim });
  });
  for (const [i, router] of routers.entries()) {
    // Port 0 is a host, ports 1 to 3 are the routers i+1, i+2 and i+3.
    router.attach({ send: () => delivered++ });
    for (let step = 1; step < 4; step++) {
      const send = (bytes: Uint8Array) => {
        datagrams++;
        routers[(i + step) % 4]!.receive(4 - step, bytes.slice());
      };
      router.attach({ send }, { isRouter: true });
    }
  }
  const packet = ipPacket({ id: 1, ttl: 9, timeS: 0 });
  packet.set(groupOf(7), 16);
  routers[0]!.receive(0, packet);
  // Three copies at first; each arrival makes two more. TTL 9 is seven more hops.
  const byTtl = 3 * (2 ** 8 - 1);
  // With the filter a copy ends at a router that it has visited. Hops 1 and 2 visit new routers
  // only. Of the 12 copies of hop 3, 6 come back to the first router; the other 6 have visited all
  // four, and both copies that each makes end.
  const byFilter = 3 + 6 + 12 + 12;
  expect(datagrams).toBe(hasShim ? byFilter : byTtl);
  expect(delivered).toBeGreaterThanOrEqual(3);
  const looped = routers.reduce((sum, { counts }) => sum + counts.dropped.loop, 0);
  expect(looped > 0).toBe(hasShim);
});
