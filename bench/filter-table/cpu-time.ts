/**
 * The processor time of this process. Lookups take less than a microsecond and wait for nothing but
 * memory, so on a quiet machine it is the wall-clock time; on a busy one it leaves out the time in
 * which other processes run.
 */

/** Milliseconds of processor time that the work takes. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
