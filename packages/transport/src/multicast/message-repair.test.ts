import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { MessageRepair } from './message-repair.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

/** A repair that writes down what it does. The publisher answers as the test says. */
function newRepair({ neighbours = 1, isKept = true, isFetched = true } = {}) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const repair = new MessageRepair({
    clock,
    delivered: 0,
    neighbours: () => neighbours,
    repeat: async (numbers) => {
      told.push(`repeat ${numbers.join(' ')}`);
      return isKept;
    },
    fetch: async (number) => {
      told.push(`fetch ${number}`);
      if (!isFetched) throw new Error('gone');
      return bytes(`fetched ${number}`);
    },
    deliver: ({ number, bytes: message }) => told.push(`${number}: ${new TextDecoder().decode(message)}`),
    lost: (upTo) => told.push(`lost up to ${upTo}`),
  });
  return { clock, told, repair };
}

test('MessageRepair asks for the group first, and delivers in order when the message has come again', async () => {
  const { clock, told, repair } = newRepair();
  repair.take(1, bytes('a'));
  repair.take(3, bytes('c'));
  await clock.advance(20);
  expect(told).toEqual(['1: a', 'repeat 2']);
  repair.take(2, bytes('b'));
  await clock.advance(5000);
  expect(told).toEqual(['1: a', 'repeat 2', '2: b', '3: c']);
});

test('MessageRepair asks nothing if the message comes within the pause', async () => {
  const { clock, told, repair } = newRepair({ neighbours: 250 });
  repair.take(2, bytes('b'));
  repair.take(1, bytes('a'));
  await clock.advance(5000);
  expect(told).toEqual(['1: a', '2: b']);
});

test('MessageRepair fetches a message that was sent again in vain, and those too long for the group', async () => {
  const { clock, told, repair } = newRepair();
  repair.known(1);
  await clock.advance(100);
  expect(told).toEqual(['repeat 1', 'fetch 1', '1: fetched 1']);
  repair.announced(2);
  await clock.advance(100);
  expect(told.slice(3)).toEqual(['fetch 2', '2: fetched 2']);
});

test('MessageRepair gives up messages that are gone, and goes on after them', async () => {
  for (const answers of [{ isKept: false }, { isFetched: false }]) {
    const { clock, told, repair } = newRepair(answers);
    repair.take(3, bytes('c'));
    await clock.advance(5000);
    expect(told.filter((each) => !/repeat|fetch/.test(each))).toEqual(['lost up to 2', '3: c']);
  }
});

test('MessageRepair leaves a gap of more than 32 messages to the topic at once', async () => {
  const { clock, told, repair } = newRepair();
  repair.take(34, bytes('z'));
  expect(told).toEqual(['lost up to 33', '34: z']);
  repair.known(66);
  await clock.advance(20);
  expect(told.slice(2)).toEqual([`repeat ${Array.from({ length: 32 }, (_, i) => 35 + i).join(' ')}`]);
});

test('MessageRepair asks for all gaps at once', async () => {
  const { clock, told, repair } = newRepair();
  for (const number of [2, 4, 5, 8]) repair.take(number, bytes('later'));
  await clock.advance(20);
  expect(told).toEqual(['repeat 1 3 6 7']);
});

test('MessageRepair: many receivers of one loss ask seldom, because the first one brings it back', async () => {
  const [receivers, rounds, answerMs] = [63, 20, 2];
  let asks = 0;
  for (let round = 0; round < rounds; round++) {
    const clock = new VirtualClock({ seed: round + 1 });
    const repairs: MessageRepair[] = [];
    let isRepeating = false;
    for (let i = 0; i < receivers; i++)
      repairs.push(
        new MessageRepair({
          clock,
          delivered: 0,
          neighbours: () => receivers,
          repeat: async () => {
            asks++;
            if (!isRepeating)
              clock.after(answerMs, () => {
                for (const repair of repairs) repair.take(1, bytes('a'));
              });
            isRepeating = true;
            return true;
          },
          fetch: () => Promise.reject(new Error('expected no fetch')),
          deliver: () => {},
          lost: () => expect.unreachable(),
        }),
      );
    for (const repair of repairs) repair.known(1);
    await clock.advance(2000);
  }
  // The pauses are drawn from 252 ms, so 62 × 2/252 receivers ask within 2 ms after the first.
  expect(asks).toBeGreaterThanOrEqual(rounds);
  expect(asks / rounds).toBeLessThan(3);
});

test('MessageRepair that is closed asks for nothing more', async () => {
  const { clock, told, repair } = newRepair();
  repair.known(1);
  repair.close();
  await clock.advance(5000);
  expect(told).toEqual([]);
});
