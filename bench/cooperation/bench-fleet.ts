/** Fleets of the command as it was built, for the rows that measure real processes. */

import { fileURLToPath } from 'node:url';
import { Fleet, type FleetOptions } from '../../packages/testkit/src/fleet/fleet.ts';

/** The command as it was built. */
export const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));

export interface BenchFleetOptions extends Partial<Omit<FleetOptions, 'program'>> {
  /** The origin behind all nodes. */
  readonly origin: string;
}

/** Starts the nodes and waits until they know each other. All settings are the defaults. */
export async function startBenchFleet(options: BenchFleetOptions): Promise<Fleet> {
  const { origin, settings, ...rest } = options;
  const fleet = await Fleet.start({
    nodes: 3,
    ...rest,
    program: (file) => [COMMAND, 'cache', '--config', file],
    settings: (index, folder) => ({ upstream: [`/=${origin}/`], ...settings?.(index, folder) }),
  });
  if (rest.cooperates !== false) await fleet.untilCurrent(120_000);
  return fleet;
}

/** A quantile of measured values: 0.99 for the 99th percentile. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function met(isMet: boolean): string {
  return isMet ? 'met' : 'MISSED';
}
