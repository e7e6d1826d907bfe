/**
 * The work that a call does, as milliseconds of CPU time. Tests of "takes time in proportion to its input" compare
 * this with a limit far above linear and far below quadratic time. A clock on the wall would also count what other
 * programs do: on a machine with a load of 17 such a test took eight times as long, and its CPU time stayed the same.
 */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
