/**
 * The beat that all nodes of a fleet share: multiples of the interval on the clock. A node that
 * follows 63 others would otherwise wake up 63 times in an interval, each time for one heartbeat of
 * a few bytes, and as often for its own timers. Waking up costs an idle node several times as much
 * as the heartbeat itself. On a common beat it wakes up a few times and takes all of them.
 *
 * Multicast has no common beat: datagrams of hundreds of nodes at one moment would overflow the
 * buffers of their receivers, where the streams of TCP wait.
 *
 * Nothing depends on clocks that agree. A node whose clock is wrong beats at another moment of the
 * interval, and costs its neighbours one more wake-up. After a step of the clock one beat comes up
 * to half an interval early or late.
 */

import type { Clock } from '../clock.ts';

/**
 * Milliseconds until the next common beat, at least half an interval and less than one and a half.
 * The least time is there because a timer may fire a millisecond early, and would then count the
 * same beat twice.
 */
export function untilBeat(clock: Clock, everyMs: number): number {
  return untilPhase(clock, everyMs, 0);
}

/**
 * Milliseconds until the middle between two common beats, with the same limits. A node looks there
 * whether it heard the beats of the others, so a beat that is a little late counts.
 */
export function untilOffBeat(clock: Clock, everyMs: number): number {
  return untilPhase(clock, everyMs, everyMs / 2);
}

function untilPhase(clock: Clock, everyMs: number, phaseMs: number): number {
  const leastMs = everyMs / 2;
  const past = (clock.now() + leastMs - phaseMs) % everyMs;
  return leastMs + ((everyMs - past) % everyMs);
}
