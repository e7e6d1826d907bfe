import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { beforeEach, describe, expect, test } from 'vitest';
import { Flight, type FlightKind, type Landing } from './flight.ts';

describe('Flight', () => {
  test('tells all who wait, and says who came before it was sent', () => {
    const flight = new Flight<string, string>('k');
    const heard: string[] = [];
    const listen = (name: string) => (landing: Landing<string, string>, early: boolean) =>
      heard.push(`${name} ${landing.kind} ${early}`);
    flight.wait(1000, listen('one'));
    flight.markSent();
    flight.wait(1000, listen('two'));
    const leave = flight.wait(1000, listen('three'));
    leave();
    expect(flight.waiters).toBe(2);
    flight.land({ kind: 'shared', shared: 'x' });
    flight.land({ kind: 'private' });
    expect(heard).toEqual(['one shared true', 'two shared false']);
    expect(flight.landing).toEqual({ kind: 'shared', shared: 'x' });
    expect(() => flight.wait(1, () => {})).toThrow(/got one that landed \(k\)/);
  });

  test('lets waiters go when it takes too long', async () => {
    const clock = new VirtualClock();
    const flight = new Flight<string, string>('k', 'joinable', '', clock);
    const heard: string[] = [];
    flight.wait(100, ({ kind }) => heard.push(kind));
    await clock.advance(99);
    expect(heard).toEqual([]);
    await clock.advance(1);
    expect(heard).toEqual(['expired']);
    flight.land({ kind: 'private' });
    expect(heard).toEqual(['expired']);
  });

  test('tells once that it is rooted, at once if it is', () => {
    const flight = new Flight<string, string>('k');
    const heard: string[] = [];
    flight.whenRooted(() => heard.push('one'));
    const stop = flight.whenRooted(() => heard.push('two'));
    stop();
    expect(heard).toEqual([]);
    flight.markRooted();
    flight.markRooted();
    expect(heard).toEqual(['one']);
    flight.whenRooted(() => heard.push('three'));
    expect(heard).toEqual(['one', 'three']);
  });

  test('tells the first waiter its own result, before all others', () => {
    const flight = new Flight<string, string>('k');
    const heard: string[] = [];
    const listen = (name: string) => (landing: Landing<string, string>) => {
      heard.push(`${name} ${landing.kind} waiters ${flight.waiters}`);
    };
    flight.waitFirst(listen('first'));
    expect(() => flight.waitFirst(listen('second'))).toThrow(/expected a flight without waiters/);
    flight.wait(1000, listen('other'));
    expect([flight.waiters, flight.firstWaits]).toEqual([2, true]);
    flight.land({ kind: 'private' }, { kind: 'own', own: 'x' });
    expect(heard).toEqual(['first own waiters 0', 'other private waiters 0']);
    expect(flight.landing).toEqual({ kind: 'private' });
  });

  test('gives the result of the others to all when the first has left', () => {
    const flight = new Flight<string, string>('k');
    const heard: string[] = [];
    const leave = flight.waitFirst(({ kind }) => heard.push(`first ${kind}`));
    flight.wait(1000, ({ kind }) => heard.push(`other ${kind}`));
    leave();
    expect(flight.firstWaits).toBe(false);
    flight.land({ kind: 'private' }, { kind: 'own', own: 'x' });
    expect(heard).toEqual(['other private']);
  });

  test('tells all waiters although one of them throws, and throws then', () => {
    const flight = new Flight<string, string>('k');
    const heard: string[] = [];
    flight.waitFirst(() => {
      throw new Error('broken');
    });
    flight.wait(1000, ({ kind }) => heard.push(kind));
    expect(() => flight.land({ kind: 'private' })).toThrow('broken');
    expect(heard).toEqual(['private']);
  });

  describe('without waiters', () => {
    let clock: VirtualClock;
    beforeEach(() => {
      clock = new VirtualClock();
    });

    /** A flight, and the number of times that it was abandoned. */
    function begun(kind: FlightKind) {
      const flight = new Flight<string, string>('k', kind, '', clock);
      const count = { abandoned: 0 };
      flight.unwaited = () => {
        count.abandoned++;
        flight.end();
      };
      return { flight, count };
    }
    const ignore = () => {};

    test('is abandoned at once while it gathers', () => {
      const { flight, count } = begun('joinable');
      const leave = flight.waitFirst(ignore);
      const stay = flight.wait(60_000, ignore);
      leave();
      expect(count.abandoned).toBe(0);
      stay();
      expect(count.abandoned).toBe(1);
      stay();
      flight.land({ kind: 'private' });
      expect([count.abandoned, flight.landing]).toEqual([1, null]);
    });

    test('is abandoned five seconds after the last one left, once it was sent', async () => {
      const { flight, count } = begun('joinable');
      const leave = flight.waitFirst(ignore);
      flight.markSent();
      leave();
      await clock.advance(4999);
      const late = flight.wait(60_000, ignore);
      await clock.advance(10_000);
      expect(count.abandoned).toBe(0);
      late();
      await clock.advance(4999);
      expect(count.abandoned).toBe(0);
      await clock.advance(1);
      expect(count.abandoned).toBe(1);
      expect(clock.pending).toBe(0);
    });

    test('is abandoned after its last waiter gave up waiting', async () => {
      const { flight, count } = begun('joinable');
      const leave = flight.waitFirst(ignore);
      flight.markSent();
      flight.wait(100, ignore);
      leave();
      await clock.advance(5099);
      expect(count.abandoned).toBe(0);
      await clock.advance(1);
      expect(count.abandoned).toBe(1);
    });

    test('is abandoned at once if no other request can join it, sent or not', () => {
      const { flight, count } = begun('alone');
      const leave = flight.waitFirst(ignore);
      flight.markSent();
      leave();
      expect(count.abandoned).toBe(1);
    });

    test('is not abandoned in the background, nor after it landed', async () => {
      const background = begun('background');
      background.flight.wait(1000, ignore)();
      const landed = begun('joinable');
      const leave = landed.flight.waitFirst(ignore);
      landed.flight.markSent();
      landed.flight.land({ kind: 'private' });
      leave();
      await clock.advance(10_000);
      expect([background.count.abandoned, landed.count.abandoned]).toEqual([0, 0]);
      expect(clock.pending).toBe(0);
    });
  });
});
