import { describe, expect, test } from 'vitest';
import { Flights } from './flights.ts';

describe('Flights', () => {
  test('finds one that landed with something acceptable, else the newest that has not landed', () => {
    const flights = new Flights<string, string>(() => 0);
    expect(flights.find('k', '', () => true)).toBeNull();
    const english = flights.begin('k');
    expect(flights.find('k', '', () => false)).toBe(english);
    english.land({ kind: 'shared', shared: 'en' });
    const older = flights.begin('k');
    const newer = flights.begin('k');
    expect(flights.find('k', '', (shared) => shared === 'en')).toBe(english);
    expect(flights.find('k', '', (shared) => shared === 'fr')).toBe(newer);
    flights.end(newer);
    expect(flights.find('k', '', () => false)).toBe(older);
    flights.end(older);
    flights.end(english);
    flights.end(english);
    expect([flights.size, flights.has('k', '')]).toEqual([0, false]);
  });

  test('dooms all of a key', () => {
    const flights = new Flights<string, string>(() => 0);
    const flight = flights.begin('k');
    const other = flights.begin('l');
    flights.doom('k');
    expect([flight.doomed, other.doomed, flights.find('k', '', () => true), flights.size]).toEqual([
      true,
      false,
      null,
      1,
    ]);
  });

  test('dooms those that no request can join as well, but not the one that brings the change', () => {
    const flights = new Flights<string, string>(() => 0);
    const [alone, other, own] = [
      flights.begin('k', 'alone'),
      flights.begin('l', 'alone'),
      flights.begin('k', 'alone'),
    ];
    expect([flights.size, flights.all, flights.has('k', '')]).toEqual([0, 3, false]);
    expect(flights.find('k', '', () => true)).toBeNull();
    flights.doom('k', own);
    expect([alone.doomed, other.doomed, own.doomed, flights.all]).toEqual([true, false, false, 2]);
    flights.doom('k');
    expect(own.doomed).toBe(true);
    flights.end(own);
    flights.end(alone);
    flights.end(other);
    flights.end(other);
    expect(flights.all).toBe(0);
  });

  test('remembers barren keys for a while, and a bounded number of them', () => {
    let now = 0;
    const flights = new Flights<string, string>(() => now);
    flights.markBarren('k');
    now = 9999;
    expect(flights.isBarren('k')).toBe(true);
    now = 10_000;
    expect(flights.isBarren('k')).toBe(false);
    flights.markBarren('k');
    flights.markFertile('k');
    expect(flights.isBarren('k')).toBe(false);
    flights.markBarren('first');
    for (let i = 0; i < 16_384; i++) flights.markBarren(`k${i}`);
    expect(flights.isBarren('first')).toBe(false);
    expect(flights.isBarren('k0')).toBe(true);
  });

  test('counts background flights until they end, doomed or not', () => {
    const flights = new Flights<string, string>(() => 0);
    const [one, two] = [flights.begin('k', 'background'), flights.begin('l', 'background')];
    flights.doom('k');
    expect(flights.background).toBe(2);
    flights.end(one);
    flights.end(one);
    expect([flights.background, one.ended, two.ended]).toEqual([1, true, false]);
  });

  test('joins requests to flights of their own variant, once the flight has learned it', () => {
    const flights = new Flights<string, string>(() => 0);
    const first = flights.begin('k');
    expect([flights.find('k', '', () => true), flights.selectors('k')]).toEqual([first, undefined]);
    flights.learn(first, ['accept-language'], 'en');
    first.land({ kind: 'shared', shared: 'in English' });
    expect(flights.selectors('k')).toEqual(['accept-language']);
    expect(flights.find('k', '', () => true)).toBeNull();
    expect(flights.find('k', 'en', () => true)).toBe(first);
    expect(flights.find('k', 'de', () => true)).toBeNull();
    const german = flights.begin('k', 'joinable', 'de');
    expect(flights.find('k', 'de', () => true)).toBe(german);
    expect([flights.has('k', 'de'), flights.has('k', 'fr'), flights.size]).toEqual([true, false, 2]);
    flights.end(german);
    flights.end(first);
    expect([flights.size, flights.all]).toEqual([0, 0]);
  });

  test('dooms every variant of a key, and learns nothing that brings a doomed flight back', () => {
    const flights = new Flights<string, string>(() => 0);
    const both = [flights.begin('k', 'joinable', 'en'), flights.begin('k', 'joinable', 'de')];
    flights.doom('k');
    expect(both.map(({ doomed }) => doomed)).toEqual([true, true]);
    flights.learn(both[0]!, ['accept-language'], 'fr');
    expect([flights.size, flights.find('k', 'fr', () => true)]).toEqual([0, null]);
  });

  test('forgets what selects the response when a response is not selected any more', () => {
    const flights = new Flights<string, string>(() => 0);
    flights.learn(flights.begin('k'), ['accept'], 'x');
    flights.learn(flights.begin('k'), [], '');
    expect(flights.selectors('k')).toBeUndefined();
  });
});
