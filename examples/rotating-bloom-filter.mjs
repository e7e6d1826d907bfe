// Handles each message once. A message may be delivered again within minutes, but never after an
// hour, so the filter remembers ids for an hour and forgets them soon after. The caller passes the
// time; here it is a simulated day.

import assert from 'node:assert/strict';
import { RotatingBloomFilter } from 'bloomery';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
let now = 0;
// Four generations of 20 minutes. Each sees 1200 messages and 120 repetitions, which are added
// again.
const seen = new RotatingBloomFilter({
  capacity: 1320,
  falsePositiveRate: 0.001,
  generations: 4,
  ttlMs: HOUR,
  nowMs: now,
});

let handled = 0;
let duplicates = 0;
let lost = 0;
for (let id = 0; now < 24 * HOUR; id++, now += 1000) {
  seen.advance(now);
  if (seen.add(`message ${id}`)) handled++;
  else lost++; // a new message mistaken for an old one: a false positive
  // Every tenth message is delivered again after fifty minutes.
  const again = id - 3000;
  if (again >= 0 && again % 10 === 0 && !seen.add(`message ${again}`)) duplicates++;
}
const messages = handled + lost;
assert.equal(messages, 24 * 3600);
assert.equal(duplicates, (messages - 3000) / 10, 'no repetition within the hour slips through');
assert.ok(lost < 0.001 * messages + 5 * Math.sqrt(0.001 * messages));

// Ids are forgotten after at most 4/3 of the hour, so a day of messages takes the memory of eighty
// minutes.
assert.equal(seen.age('message 86399'), 0);
seen.advance(now + 80 * MINUTE);
assert.equal(seen.estimatedSize(), 0);

console.log(
  `${messages} messages, ${duplicates} repetitions caught, ${lost} lost, in ${seen.byteLength} bytes`,
);
