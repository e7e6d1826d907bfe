import { expect, test } from 'vitest';
import { FleetKeyring } from './fleet-keyring.ts';
import { fleetKeys } from './fleet-keys.ts';

const older = new Uint8Array(16).fill(1);
const newer = new Uint8Array(16).fill(2);
const idsOf = (keyring: FleetKeyring) => keyring.all.map(({ id }) => id);
const [olderId, newerId] = [fleetKeys(older).id, fleetKeys(newer).id];

test('FleetKeyring keeps its secrets in the order of preference, and tells changes', () => {
  const keyring = new FleetKeyring([older]);
  const told: number[][] = [];
  const cancel = keyring.watch(() => told.push(idsOf(keyring)));
  const before = keyring.first;
  keyring.change([older]);
  keyring.change([older, newer]);
  keyring.change([newer, older]);
  expect(keyring.find(olderId)).toBe(before);
  expect(keyring.first.id).toBe(newerId);
  keyring.change([newer]);
  cancel();
  keyring.change([older]);
  expect(told).toEqual([[olderId, newerId], [newerId, olderId], [newerId]]);
  expect(keyring.find(newerId)).toBeUndefined();
  expect(keyring.find(null)).toBeUndefined();
});

test('FleetKeyring refuses no secret, three of them, one twice and a short one, and stays as it was', () => {
  const keyring = new FleetKeyring([older]);
  let told = 0;
  keyring.watch(() => told++);
  const third = new Uint8Array(16).fill(3);
  expect(() => keyring.change([])).toThrow('expected 1 to 2, got 0');
  expect(() => keyring.change([older, newer, third])).toThrow('expected 1 to 2, got 3');
  expect(() => keyring.change([newer, newer])).toThrow('expected different ones, got one twice');
  expect(() => keyring.change([newer, new Uint8Array(15)])).toThrow('at least 16 bytes, got 15');
  expect([idsOf(keyring), told]).toEqual([[olderId], 0]);
});

test('FleetKeyring.of takes a keyring as it is, and a secret as the only one', () => {
  const keyring = new FleetKeyring([older, newer]);
  expect(FleetKeyring.of(keyring)).toBe(keyring);
  expect(idsOf(FleetKeyring.of(newer))).toEqual([newerId]);
});
