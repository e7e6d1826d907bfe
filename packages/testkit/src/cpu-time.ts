/**
 * Returns the work that a call does, in milliseconds of CPU time. Tests of "takes time in
 * proportion to its input" compare this with a limit far above linear and far below quadratic time.
 * Wall-clock time would include the work of other programs: on a machine with a load of 17 such a
 * test took eight times as long, while its CPU time stayed the same.
 */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
