/**
 * Waits for an event that only shows when it is asked for: a line in a log, a state of a process, a
 * text on a screen. This is the one place in the tests that waits by time. It asks every few
 * milliseconds, so a fast machine goes on at once and a slow one has until the deadline, which is
 * many times as long as the event should take.
 */

const EVERY_MS = 5;

/**
 * Asks until the answer is neither undefined nor false, and returns it. `everyMs` is the pause
 * between two questions, for those that cost the one who is asked.
 */
export async function eventually<T>(
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  ms = 50_000,
  what = `${ask}`,
  everyMs = EVERY_MS,
): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`Cannot wait any longer: expected within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Waits until a condition holds. `what` says in an error which event did not come. */
export async function until(what: string, condition: () => unknown, ms = 100_000): Promise<void> {
  await eventually(async () => Boolean(await condition()), ms, what);
}
