import { expect, test } from 'vitest';
import { RecentAdds } from './recent-adds.ts';

test('RecentAdds holds the adds since a time, as a list that is filtered would', () => {
  const adds = new RecentAdds();
  let model: number[] = [];
  let random = 7;
  for (let now = 0; now < 5000; now++) {
    random = (random * 48_271) % 2_147_483_647;
    adds.push({ low: now, high: 0 } as never, now);
    model.push(now);
    if (random % 5 !== 0) continue;
    const before = now - (random % 200);
    adds.forgetBefore(before);
    model = model.filter((at) => at >= before);
    expect(adds.size).toBe(model.length);
    expect([...adds.hashes()].map(({ low }) => low)).toEqual(model);
  }
});
