import { expect, test } from 'vitest';
import { FleetKeyring } from '../fleet-keyring.ts';
import { KeyChoice } from './key-choice.ts';

const older = new Uint8Array(16).fill(1);
const newer = new Uint8Array(16).fill(2);

function choiceOf(...secrets: Uint8Array[]) {
  const keyring = new FleetKeyring(secrets);
  return { keyring, choice: new KeyChoice(keyring), keys: keyring.all };
}

test('KeyChoice takes the first secret that the neighbour names, and follows its list', () => {
  const { choice, keys } = choiceOf(newer, older);
  const [first, second] = keys;
  expect([choice.keys, choice.common]).toEqual([first, []]);
  choice.accept(second, [second.id]);
  expect([choice.keys, choice.common]).toEqual([second, [second.id]]);
  choice.accept(second, [second.id, first.id]);
  expect([choice.keys, choice.common]).toEqual([first, [first.id, second.id]]);
  choice.accept(first, [first.id, 7]);
  expect([choice.keys, choice.common]).toEqual([first, [first.id]]);
});

test('KeyChoice tries the next secret after a refusal, and all again when none is left', () => {
  const { choice, keys } = choiceOf(newer, older);
  const [first, second] = keys;
  expect(choice.refuse(first)).toBe(true);
  expect(choice.keys).toBe(second);
  expect(choice.refuse(second)).toBe(false);
  expect(choice.keys).toBe(first);
  expect(choiceOf(newer).choice.refuse(first)).toBe(false);
});

test('KeyChoice believes a neighbour without a list to accept the secret that it took', () => {
  const { choice, keys } = choiceOf(newer, older);
  choice.refuse(keys[0]);
  choice.accept(keys[1], []);
  expect([choice.keys, choice.common]).toEqual([keys[1], [keys[1].id]]);
});

test('KeyChoice does not alternate if a neighbour names a secret and refuses it', () => {
  const { choice, keys } = choiceOf(newer, older);
  const named = keys.map(({ id }) => id);
  const used = [];
  for (let i = 0; i < 6; i++) {
    const now = choice.keys;
    used.push(now);
    if (now === keys[0]) choice.refuse(now);
    else choice.accept(now, named);
  }
  expect(used).toEqual([keys[0], keys[1], keys[0], keys[1], keys[1], keys[1]]);
});

test('KeyChoice follows its keyring at each step of a change', () => {
  const { choice, keyring } = choiceOf(older);
  const old = keyring.first;
  choice.accept(old, [old.id]);
  keyring.change([older, newer]);
  choice.keyringChanged();
  const [, young] = keyring.all;
  expect(choice.keys).toBe(old);
  choice.accept(old, [old.id, young.id]);
  expect(choice.keys).toBe(old);
  keyring.change([newer, older]);
  choice.keyringChanged();
  expect(choice.keys).toBe(young);
  keyring.change([newer]);
  choice.keyringChanged();
  expect([choice.keys, choice.common]).toEqual([young, [young.id]]);
});
