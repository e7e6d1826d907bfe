import { SetPublisher } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { hashOf, KEY_ID, SCHEME, SummaryLab } from '../../test/peers/summary-lab.ts';
import { SUMMARY_TOPIC } from './summary-follower.ts';

/** A publisher at node `a` that changes a key every 250 ms, and the times at which it was asked. */
function busyPublisher(lab: SummaryLab, keys: number) {
  const publisher = new SetPublisher({
    incarnation: 1,
    publisherId: KEY_ID,
    universe: 2 ** 30,
    keyId: KEY_ID,
    scheme: SCHEME,
  });
  for (let i = 0; i < keys; i++) publisher.addHash(hashOf(`key ${i}`));
  publisher.publish();
  const asked: number[] = [];
  const answers = { isFailing: false };
  lab.a.serve(SUMMARY_TOPIC, (request) => {
    asked.push(lab.clock.monotonic());
    if (answers.isFailing) throw new Error('no answer');
    return publisher.answer(request) ?? new Uint8Array();
  });
  let round = 0;
  const tick = () => {
    publisher.addHash(hashOf(`round ${round}`));
    publisher.deleteHash(hashOf(round === 0 ? 'key 0' : `round ${round - 1}`));
    round++;
    lab.a.publish(SUMMARY_TOPIC, publisher.publish()!);
    lab.clock.after(250, tick);
  };
  return { publisher, asked, answers, start: tick };
}

function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, i) => time - times[i]);
}

test('NeighbourLink asks once a minute for a summary above its limit', async () => {
  const lab = new SummaryLab();
  const { asked, start } = busyPublisher(lab, 100);
  const link = lab.follow(50);
  await lab.clock.advance(100);
  start();
  await lab.clock.advance(180_000);
  expect(link.followers[0].positions).toBeNull();
  expect(lab.events).toContain('summary-too-large');
  // 720 messages came in this time.
  expect(asked.length).toBeGreaterThan(1);
  for (const gap of gapsOf(asked)) expect(gap).toBeGreaterThanOrEqual(60_000);
});

test('NeighbourLink asks at once again after something was taken', async () => {
  const lab = new SummaryLab();
  const { publisher, asked, answers, start } = busyPublisher(lab, 100);
  const link = lab.follow(50);
  await lab.clock.advance(100);
  start();
  await lab.clock.advance(20_000);
  for (let i = 1; i < 80; i++) publisher.deleteHash(hashOf(`key ${i}`));
  await lab.clock.advance(61_000);
  expect(link.masked).toBeNull();
  expect(lab.finds('key 90')).toBe(true);
  const before = asked.length;
  await lab.clock.advance(20_000);
  expect(asked).toHaveLength(before);
  lab.network.setConditions({ loss: 1 }, 'sim:a', 'sim:b');
  await lab.clock.advance(300);
  lab.network.setConditions({}, 'sim:a', 'sim:b');
  await lab.clock.advance(251);
  expect(asked).toHaveLength(before + 1);
  await lab.clock.advance(5000);
  expect(asked).toHaveLength(before + 1);
  expect(link.generationOf(KEY_ID)?.sequence).toBe(publisher.generation.sequence);
  // The next wait is the shortest one again.
  answers.isFailing = true;
  lab.network.setConditions({ loss: 1 }, 'sim:a', 'sim:b');
  await lab.clock.advance(300);
  lab.network.setConditions({}, 'sim:a', 'sim:b');
  await lab.clock.advance(251);
  expect(asked).toHaveLength(before + 2);
  answers.isFailing = false;
  await lab.clock.advance(251);
  expect(asked).toHaveLength(before + 3);
});

test('NeighbourLink waits after a request that fails, and asks without another message', async () => {
  const lab = new SummaryLab();
  const { asked, answers } = busyPublisher(lab, 100);
  answers.isFailing = true;
  const link = lab.follow();
  await lab.clock.advance(100);
  expect(asked).toHaveLength(1);
  for (let i = 0; i < 5; i++) link.catchUp();
  expect(asked).toHaveLength(1);
  answers.isFailing = false;
  await lab.clock.advance(250);
  expect(asked).toHaveLength(2);
  expect(lab.finds('key 7')).toBe(true);
});

test('NeighbourLink waits at most 5 s after requests that failed, however many did', async () => {
  const lab = new SummaryLab();
  const { asked, answers, start } = busyPublisher(lab, 100);
  answers.isFailing = true;
  const link = lab.follow();
  await lab.clock.advance(100);
  start();
  await lab.clock.advance(120_000);
  expect(link.masked).not.toBeNull();
  // The longest wait, and the time until the next message.
  expect(Math.max(...gapsOf(asked))).toBeLessThanOrEqual(5250);
  expect(Math.max(...gapsOf(asked))).toBeGreaterThan(4000);
  answers.isFailing = false;
  await lab.clock.advance(5250);
  expect(link.masked).toBeNull();
});

test('NeighbourLink repeats a request that was lost, if the link opened again meanwhile', async () => {
  const lab = new SummaryLab();
  const { asked } = busyPublisher(lab, 100);
  await lab.clock.advance(100);
  lab.network.setConditions({ loss: 1 }, 'sim:b', 'sim:a');
  const link = lab.follow();
  await lab.clock.advance(100);
  lab.network.setConditions({}, 'sim:b', 'sim:a');
  link.catchUp();
  expect(asked).toHaveLength(0);
  // The deadline of the lost one, and the shortest wait. No message comes in this time.
  await lab.clock.advance(15_300);
  expect(asked).toHaveLength(1);
  expect(lab.finds('key 7')).toBe(true);
});

test('NeighbourLink asks no more after it was closed', async () => {
  const lab = new SummaryLab();
  const { asked, answers } = busyPublisher(lab, 100);
  answers.isFailing = true;
  const link = lab.follow();
  await lab.clock.advance(100);
  link.catchUp();
  link.close();
  await lab.clock.advance(60_000);
  expect(asked).toHaveLength(1);
});
