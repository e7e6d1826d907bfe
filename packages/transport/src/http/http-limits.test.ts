import { expect, test } from 'vitest';
import { HTTP_LIMITS } from './http-limits.ts';

test('HTTP_LIMITS let a link come back within two heartbeats after its network is well', () => {
  const { helloMs, longestPauseMs, heartbeatMs } = HTTP_LIMITS;
  // An attempt that began before has to fail first, and the next one comes after the longest pause.
  expect(helloMs + longestPauseMs).toBeLessThanOrEqual(2 * heartbeatMs);
});
